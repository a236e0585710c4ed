"""A line: points that are drawn as one, with what makes charts of them cheap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pulseboard.native import curves
from pulseboard.native.curves import Pyramid
from pulseboard.store.query import Smoothing
from pulseboard.store.smoothing import Smoothed

Floats = NDArray[np.float64]
Counted = Literal["step", "wall"]
"""What x is counted in. Relative time is wall time from another origin."""

_SMOOTHINGS_KEPT = 2  # what is on screen, and what it is being changed to


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """A line's points in order of x. Points of equal x stay as they were logged; those without an x are left out."""

    x: Floats
    values: Floats
    pyramid: Pyramid
    order: NDArray[np.int64] | None  # the index of each among the points as logged; None: they are the same


class Column:
    """Numbers at the end of which more are added."""

    __slots__ = ("_room", "n")

    def __init__(self) -> None:
        self._room = np.empty(0)
        self.n = 0

    def add(self, numbers: NDArray[Any]) -> None:
        """Add at the end. Arrays given out before keep their numbers. The first that comes may be kept as it is."""
        n = self.n + len(numbers)
        if not self.n and numbers.dtype == np.float64 and numbers.flags.c_contiguous:
            self._room, self.n = numbers, n
            return
        if n > len(self._room):
            # The first time exactly, as most series are loaded whole; then a quarter more each time.
            room = np.empty(n if not self.n else max(n, self.n + self.n // 4))
            room[: self.n] = self._room[: self.n]
            self._room = room
        self._room[self.n : n] = numbers
        self.n = n

    @property
    def numbers(self) -> Floats:
        """All of them, without a copy."""
        return self._room[: self.n]

    @property
    def held_bytes(self) -> int:
        """Memory, with the room for more."""
        return self._room.nbytes


class Line:
    """Points in the order they were logged. One thread at a time."""

    def __init__(self) -> None:
        self._columns: dict[Counted, Column] = {"step": Column(), "wall": Column()}
        self._values = Column()
        self._rising: dict[Counted, bool] = {"step": True, "wall": True}
        self._pyramid = Pyramid()  # over the points as logged
        self._sorted: dict[Counted, Ordered] = {}
        self._smoothed: dict[object, Smoothed] = {}

    def __len__(self) -> int:
        return self._values.n

    def add(self, steps: NDArray[Any], wall_times: NDArray[Any], values: NDArray[Any]) -> None:
        """Add points at the end."""
        if not len(steps):
            return
        added: dict[Counted, NDArray[Any]] = {"step": steps, "wall": wall_times}
        for counted, numbers in added.items():
            column = self._columns[counted]
            column.add(numbers)
            tail = column.numbers[max(column.n - len(numbers) - 1, 0) :]
            # NaN is neither less nor more, so this is false for it too; infinities are told by the ends.
            rises = bool((tail[1:] >= tail[:-1]).all()) and bool(np.isfinite(tail[[0, -1]]).all())
            self._rising[counted] = self._rising[counted] and rises
        self._values.add(values)
        self._sorted.clear()

    def ordered(self, counted: Counted) -> Ordered:
        """The points in order of x, with a pyramid that covers them."""
        x, values = self._columns[counted].numbers, self._values.numbers
        if self._rising[counted]:
            self._pyramid.extend(values)
            return Ordered(x, values, self._pyramid, None)
        found = self._sorted.get(counted)
        if found is None:
            there = np.flatnonzero(np.isfinite(x))
            order = there[np.argsort(x[there], kind="stable")]
            found = Ordered(x[order], values[order], Pyramid(), order)
            found.pyramid.extend(found.values)
            self._sorted[counted] = found
        return found

    def smoothed(self, smoothing: Smoothing, counted: Counted) -> Floats:
        """The values smoothed in the order they were logged."""
        key = (smoothing, counted if smoothing.kind == "time-weighted" else None)
        found = self._smoothed.pop(key, None) or Smoothed(smoothing)
        self._smoothed[key] = found  # at the end: the least recently used goes first
        while len(self._smoothed) > _SMOOTHINGS_KEPT:
            del self._smoothed[next(iter(self._smoothed))]
        return found.of(self._columns[counted].numbers, self._values.numbers)

    def extremes(self) -> tuple[float, int, float, int]:
        """The least finite value and its step, the greatest and its; NaN and step 0 where no value is finite."""
        values = self._values.numbers
        self._pyramid.extend(values)
        low, high, _, _, _, at_low, at_high, finite, *_ = curves.extent(values, self._pyramid, 0, len(values))
        if not finite:
            return float("nan"), 0, float("nan"), 0
        steps = self._columns["step"].numbers
        return low, int(steps[at_low]), high, int(steps[at_high])

    def last(self) -> tuple[float, int]:
        """The value logged last, finite or not, and its step; NaN and step 0 where there is none."""
        if not len(self):
            return float("nan"), 0
        return float(self._values.numbers[-1]), int(self._columns["step"].numbers[-1])

    @property
    def first_wall(self) -> float:
        """The wall time of the first point; NaN where there is none."""
        walls = self._columns["wall"].numbers
        return float(walls[0]) if len(walls) else float("nan")

    @property
    def held_bytes(self) -> int:
        """Memory."""
        columns = sum(column.held_bytes for column in (*self._columns.values(), self._values))
        ordered = sum(3 * view.x.nbytes + view.pyramid.held_bytes for view in self._sorted.values())
        return columns + ordered + self._pyramid.held_bytes + sum(s.held_bytes for s in self._smoothed.values())
