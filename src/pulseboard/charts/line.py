"""A line: points that are drawn as one, with the data structures that make charts of them fast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pulseboard.charts.query import Smoothing
from pulseboard.charts.smoothing import SmoothedSeries
from pulseboard.kernel import curves
from pulseboard.kernel.curves import Pyramid

Floats = NDArray[np.float64]
Numbers = NDArray[Any]
"""float64, or int64 for whole steps, which are shared with the reader and not copied."""
XColumn = Literal["step", "wall"]
"""The column that x is taken from. Relative time is wall time from another origin."""

_MAX_SMOOTHINGS = 2  # the one on screen, and the one it is being changed to


@dataclass(frozen=True, slots=True, eq=False)
class SortedPoints:
    """A line's points sorted by x. Points with the same x keep their order; points without an x are left out."""

    x: Numbers
    values: Floats
    pyramid: Pyramid
    order: NDArray[np.int64] | None  # the index of each point in logging order; None if the orders are the same


class GrowingArray:
    """An array of float64 or int64 that grows at its end. One that got both is of float64."""

    __slots__ = ("_buffer", "n")

    def __init__(self) -> None:
        self._buffer: Numbers = np.empty(0)
        self.n = 0

    def extend(self, numbers: NDArray[Any]) -> None:
        """Append numbers. Arrays handed out before stay valid. The first array may be kept without a copy."""
        n = self.n + len(numbers)
        whole = numbers.dtype == np.int64 and (not self.n or self._buffer.dtype == np.int64)
        dtype = np.int64 if whole else np.float64
        if not self.n and numbers.dtype == dtype and numbers.flags.c_contiguous:
            self._buffer, self.n = numbers, n
            return
        if n > len(self._buffer) or self._buffer.dtype != dtype:
            # Exact the first time, because most series are loaded whole; then a quarter more each time.
            buffer: Numbers = np.empty(n if not self.n else max(n, self.n + self.n // 4), dtype)
            buffer[: self.n] = self._buffer[: self.n]
            self._buffer = buffer
        self._buffer[self.n : n] = numbers
        self.n = n

    @property
    def numbers(self) -> Numbers:
        """All numbers, without a copy."""
        return self._buffer[: self.n]

    @property
    def floats(self) -> Floats:
        """All numbers as float64, which whole ones are converted to."""
        return self.numbers.astype(np.float64, copy=False)

    @property
    def held_bytes(self) -> int:
        """Memory in use, including spare room."""
        return self._buffer.nbytes


class Line:
    """Points in logging order. Not thread-safe."""

    def __init__(self) -> None:
        self._x: dict[XColumn, GrowingArray] = {"step": GrowingArray(), "wall": GrowingArray()}
        self._values = GrowingArray()
        self._rising: dict[XColumn, bool] = {"step": True, "wall": True}
        self._pyramid = Pyramid()  # over the points in logging order
        self._sorted: dict[XColumn, SortedPoints] = {}
        self._smoothed: dict[object, SmoothedSeries] = {}

    def __len__(self) -> int:
        return self._values.n

    def add(self, steps: NDArray[Any], wall_times: NDArray[Any], values: NDArray[Any]) -> None:
        """Append points."""
        if not len(steps):
            return
        added: dict[XColumn, NDArray[Any]] = {"step": steps, "wall": wall_times}
        for column, numbers in added.items():
            array = self._x[column]
            array.extend(numbers)
            tail = array.numbers[max(array.n - len(numbers) - 1, 0) :]
            # False for NaN too, which compares as neither less nor greater; infinities can only be at the ends.
            rises = bool((tail[1:] >= tail[:-1]).all()) and math.isfinite(tail[0]) and math.isfinite(tail[-1])
            self._rising[column] = self._rising[column] and rises
        self._values.extend(values)
        self._sorted.clear()

    def columns(self) -> tuple[Floats, Floats, Floats]:
        """Steps, wall times and values, in logging order."""
        return self._x["step"].floats, self._x["wall"].floats, self._values.floats

    def by_step(self) -> tuple[Floats, Floats, Floats]:
        """Steps, wall times and values sorted by step, without a pyramid; of several points at a step, the last one."""
        steps, wall_times, values = self.columns()
        if not self._rising["step"]:
            points = self.sorted_by("step")
            assert points.order is not None
            steps, wall_times, values = points.x.astype(np.float64), wall_times[points.order], points.values
        repeated = steps[1:] == steps[:-1]
        if repeated.any():
            last = np.append(~repeated, True)
            steps, wall_times, values = steps[last], wall_times[last], values[last]
        return steps, wall_times, values

    def sorted_by(self, column: XColumn) -> SortedPoints:
        """The points sorted by x, with a pyramid over them."""
        x, values = self._x[column].numbers, self._values.floats
        if self._rising[column]:
            self._pyramid.extend(values)
            return SortedPoints(x, values, self._pyramid, None)
        found = self._sorted.get(column)
        if found is None:
            finite = np.flatnonzero(np.isfinite(x))
            order = finite[np.argsort(x[finite], kind="stable")]
            found = SortedPoints(x[order], values[order], Pyramid(), order)
            found.pyramid.extend(found.values)
            self._sorted[column] = found
        return found

    def smoothed(self, smoothing: Smoothing, column: XColumn) -> Floats:
        """The values smoothed in logging order."""
        key = (smoothing, column if smoothing.kind == "time-weighted" else None)
        series = self._smoothed.pop(key, None) or SmoothedSeries(smoothing)
        self._smoothed[key] = series  # at the end: the least recently used goes first
        while len(self._smoothed) > _MAX_SMOOTHINGS:
            del self._smoothed[next(iter(self._smoothed))]
        return series.values(self._x[column].numbers, self._values.floats)

    def extremes(self) -> tuple[float, int, float, int]:
        """The smallest finite value and its step, the largest and its step; NaN and step 0 if no value is finite."""
        values = self._values.floats
        self._pyramid.extend(values)
        low, high, _, _, _, at_low, at_high, finite, *_ = curves.extent(values, self._pyramid, 0, len(values))
        if not finite:
            return float("nan"), 0, float("nan"), 0
        steps = self._x["step"].numbers
        return low, int(steps[at_low]), high, int(steps[at_high])

    def last(self) -> tuple[float, int]:
        """The value logged last, finite or not, and its step; NaN and step 0 if there are no points."""
        if not len(self):
            return float("nan"), 0
        return float(self._values.numbers[-1]), int(self._x["step"].numbers[-1])

    @property
    def first_wall_time(self) -> float:
        """The wall time of the first point; NaN if there are no points."""
        wall_times = self._x["wall"].numbers
        return float(wall_times[0]) if len(wall_times) else float("nan")

    @property
    def held_bytes(self) -> int:
        """Memory in use."""
        arrays = sum(array.held_bytes for array in (*self._x.values(), self._values))
        ordered = sum(3 * points.x.nbytes + points.pyramid.held_bytes for points in self._sorted.values())
        return arrays + ordered + self._pyramid.held_bytes + sum(s.held_bytes for s in self._smoothed.values())
