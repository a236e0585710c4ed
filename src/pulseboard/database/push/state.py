"""How far each series is in the database, and whether the log still begins with what was pushed."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.database.ids import part_id
from pulseboard.database.push.logged import Logged

# Enough to notice that a file was replaced, or that points came in between.
_TAIL = 64

Checks = tuple[int, int, int]
"""Checksums of the steps, wall times and values so far."""


class Replaced(Exception):
    """The log does not begin with what was pushed any more."""


class Behind(Exception):
    """The log has fewer points than were pushed: it was read a while ago, or it was cut off."""


@dataclass(slots=True)
class SeriesState:
    """What is in the database of one series."""

    count: int = 0
    checks: Checks = (0, 0, 0)
    orphans: list[int] = field(default_factory=list)
    step_rising: bool = True
    wall_rising: bool = True
    known: bool = False  # it has a row in the database
    _verified: bool = False
    _orphaned: int = 0
    _tail: tuple[NDArray[np.generic], ...] = ()

    def verify(self, series: Logged) -> None:
        """Raise Replaced unless the series begins with what was pushed, and Behind if it is shorter.

        All of it is compared once. From then on its last points are: a log that is followed only grows, unless its
        file is replaced, and then these differ.
        """
        if len(series) < self.count:
            raise Behind
        if not self._verified:
            if self.count and _checks(series, 0, self.count, (0, 0, 0)) != self.checks:
                raise Replaced
            self._verified = True
            self._keep(series)
            self._orphaned = int(np.count_nonzero(series.orphaned[: self.count]))
        elif any(
            not np.array_equal(before, now, equal_nan=before.dtype.kind == "f")
            for before, now in zip(self._tail, _tail_of(series, self.count), strict=True)
        ):
            raise Replaced

    def has_news(self, series: Logged) -> bool:
        """Whether the series has points that are not in the database, or a restart orphaned some that are."""
        if len(series) > self.count or not self.known:
            return True
        return int(np.count_nonzero(series.orphaned)) != self._orphaned_in_database

    @property
    def _orphaned_in_database(self) -> int:
        return sum(self.orphans[1::2]) - sum(self.orphans[::2])

    def advance(self, series: Logged, end: int) -> None:
        """Take points up to `end` as pushed."""
        self.checks = _checks(series, self.count, end, self.checks)
        orphaned = int(np.count_nonzero(series.orphaned[:end]))
        start = self.count if orphaned == self._orphaned else 0
        if not start:
            self.step_rising = self.wall_rising = True
        begin = max(start - 1, 0)
        live = ~series.orphaned[begin:end] if orphaned else slice(None)
        if self.step_rising:
            self.step_rising = _rises(series.steps[begin:end][live])
        if self.wall_rising:
            self.wall_rising = _rises(series.walls[begin:end][live])
        if orphaned and start and series.orphaned[begin]:
            # The last live point is further back than the one before the new ones.
            kept = ~series.orphaned[:end]
            self.step_rising, self.wall_rising = _rises(series.steps[:end][kept]), _rises(series.walls[:end][kept])
        self.orphans = [min(edge, end) for edge in series.orphans() if edge <= end] if orphaned else []
        if len(self.orphans) % 2:
            self.orphans.append(end)
        self.count, self._orphaned, self.known, self._verified = end, orphaned, True, True
        self._keep(series)

    def _keep(self, series: Logged) -> None:
        self._tail = tuple(column.copy() for column in _tail_of(series, self.count))


@dataclass(slots=True)
class PartState:
    """What is in the database of one rank of a run."""

    run: int
    rank: int
    generation: int = 0
    number: int = 0
    """Plans with numbers below this one are done."""
    series: dict[int, SeriesState] = field(default_factory=dict)  # by tag
    registered: bool = False  # it has a row in the table of parts
    shown: int | None = None
    """The generation that readers see: the one before, until this one is complete."""

    @property
    def id(self) -> int:
        """Its id in the database."""
        return part_id(self.run, self.rank, self.generation)

    def of(self, series: Logged) -> SeriesState:
        """The state of one series."""
        return self.series.setdefault(series.tag, SeriesState())


def _checks(series: Logged, start: int, end: int, before: Checks) -> Checks:
    columns = (series.steps, series.walls, series.values)
    checks = [zlib.crc32(column[start:end].tobytes(), check) for column, check in zip(columns, before, strict=True)]
    return checks[0], checks[1], checks[2]


def _tail_of(series: Logged, count: int) -> tuple[NDArray[np.generic], ...]:
    at = slice(max(count - _TAIL, 0), count)
    return series.steps[at], series.walls[at], series.values[at]


def _rises(numbers: NDArray[Any]) -> bool:
    """Whether the numbers are finite and never fall."""
    if not len(numbers):
        return True
    return bool((numbers[1:] >= numbers[:-1]).all()) and bool(np.isfinite(numbers[[0, -1]]).all())
