"""A track: what diagnosis keeps of one series, in bounded memory, independent of how its points arrived."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pulseboard.core.series import Series
from pulseboard.kernel.cusum import Cusum

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HEAD_POINTS = 256
TAIL_POINTS = 1024
# Beyond this many blocks, pairs are merged. Up to as many points are kept exactly.
MOST_BLOCKS = 4096


class Change(NamedTuple):
    """A change test that a track runs on its points: see kernel/cusum.pyx."""

    block: int = 1  # points averaged first
    sign: int = 1  # 1: rises, -1: falls
    log: bool = False


@dataclass(frozen=True, slots=True)
class Alarm:
    """One episode in which a series left its own recent level."""

    first_step: int  # where it began to leave
    alarm_step: int  # where that was certain
    end_step: int | None  # where it came back or became the new level; None if ongoing
    returned: bool | None  # whether it came back; None if ongoing
    level: float  # before, on the scale of the test (a log if the test uses logs)
    scale: float  # of the noise before
    peak: float
    peak_step: int
    last: float  # the last value of the episode
    points: int  # from the start until it was certain


@dataclass(slots=True)
class Streak:
    """Consecutive points with exactly the same value."""

    value: float
    length: int
    first_step: int
    last_step: int


@dataclass(slots=True)
class NotFinite:
    """The points that were NaN or infinite."""

    nan: int = 0
    inf: int = 0
    first_step: int | None = None
    last_step: int | None = None
    in_a_row: int = 0  # up to the last point
    longest_row: int = 0

    def __bool__(self) -> bool:
        return self.nan + self.inf > 0


class Points(NamedTuple):
    """Points as arrays of equal length: exact, or means of neighboring points."""

    steps: Ints
    values: Floats


@dataclass(slots=True)
class _Blocks:
    """Columns of blocks that all hold the same number of points."""

    steps: Ints = field(default_factory=lambda: np.empty(0, np.int64))  # the last step of each
    walls: Floats = field(default_factory=lambda: np.empty(0))
    sums: Floats = field(default_factory=lambda: np.empty(0))  # of finite values
    finite: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    low: Floats = field(default_factory=lambda: np.empty(0))
    high: Floats = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, steps: Ints, walls: Floats, values: Floats) -> _Blocks:
        """One block per point."""
        finite = np.isfinite(values)
        return cls(
            steps,
            walls,
            np.where(finite, values, 0.0),
            finite.astype(np.int64),
            np.where(finite, values, np.inf),
            np.where(finite, values, -np.inf),
        )

    def halved(self) -> _Blocks:
        """Neighboring pairs merged; there must be an even number."""
        # Always in pairs, so that the sums do not depend on how the points arrived.
        return _Blocks(
            self.steps[1::2],
            self.walls[1::2],
            self.sums[::2] + self.sums[1::2],
            self.finite[::2] + self.finite[1::2],
            np.minimum(self.low[::2], self.low[1::2]),
            np.maximum(self.high[::2], self.high[1::2]),
        )

    def joined(self, other: _Blocks) -> _Blocks:
        return _Blocks(*(np.concatenate([getattr(self, n), getattr(other, n)]) for n in self.__slots__))

    def first(self, n: int) -> _Blocks:
        return _Blocks(*(getattr(self, name)[:n] for name in self.__slots__))

    def from_(self, n: int) -> _Blocks:
        return _Blocks(*(getattr(self, name)[n:] for name in self.__slots__))

    def __len__(self) -> int:
        return len(self.steps)


class Track:
    """One series as detectors see it.

    It keeps the first and last points exactly, blocks with mean, minimum and maximum in between, non-finite values,
    the longest streaks of equal values, and the episodes that its change tests found.
    """

    def __init__(self, tag: str, *, changes: Iterable[Change] = ()) -> None:
        self.tag = tag
        self.count = 0
        self.not_finite = NotFinite()
        self.longest_streak: Streak | None = None
        self.streak: Streak | None = None  # the one that ends at the last point
        self.first_step: int | None = None
        self.last_step: int | None = None
        self.last_wall = float("nan")
        self.last_value = float("nan")
        self._head = Points(np.empty(0, np.int64), np.empty(0))
        self._tail = Points(np.empty(0, np.int64), np.empty(0))
        self._tail_walls: Floats = np.empty(0)
        self._blocks = _Blocks()  # of `block_points` points each
        self._pending = _Blocks()  # single points that do not make a whole block yet
        self.block_points = 1
        self._thinned: dict[int | None, Points] = {}  # results of `points`, until new points arrive
        self._joined: _Blocks | None = None
        self._tests = {change: Cusum(change.block, change.sign, change.log) for change in changes}

    @classmethod
    def of(cls, series: Series, *, changes: Iterable[Change] = ()) -> Track:
        """A whole series at once."""
        track = cls(series.tag, changes=changes)
        track.append(series.steps, series.wall_times, series.values)
        return track

    def __len__(self) -> int:
        return self.count

    @property
    def finite_count(self) -> int:
        """How many points are finite."""
        return self.count - self.not_finite.nan - self.not_finite.inf

    def append(self, steps: Ints, walls: Floats, values: Floats) -> None:
        """The next points."""
        if not len(steps):
            return
        steps = np.ascontiguousarray(steps, np.int64)
        values = np.ascontiguousarray(values, np.float64)
        walls = np.ascontiguousarray(walls, np.float64)
        if self.first_step is None:
            self.first_step = int(steps[0])
        self.last_step, self.last_wall, self.last_value = int(steps[-1]), float(walls[-1]), float(values[-1])
        self.count += len(steps)
        self._thinned.clear()
        self._joined = None
        room = HEAD_POINTS - len(self._head.steps)
        if room > 0:
            self._head = _joined(self._head, steps[:room], values[:room], most=HEAD_POINTS)
        self._tail = _joined(self._tail, steps[-TAIL_POINTS:], values[-TAIL_POINTS:], most=TAIL_POINTS)
        self._tail_walls = np.concatenate([self._tail_walls, walls[-TAIL_POINTS:]])[-TAIL_POINTS:]
        self._note_not_finite(steps, values)
        self._note_streaks(steps, values)
        self._add_blocks(steps, walls, values)
        for test in self._tests.values():
            test.take(steps, values)

    # ---- what detectors read

    @property
    def head(self) -> Points:
        """The first points, exactly."""
        return self._head

    @property
    def tail(self) -> Points:
        """The last points, exactly."""
        return self._tail

    @property
    def tail_walls(self) -> Floats:
        """When the last points were logged, seconds since 1970."""
        return self._tail_walls

    def points(self, *, most: int | None = None) -> Points:
        """The whole series, finite points only, in at most about `most` means of neighbors; exact if it fits."""
        known = self._thinned.get(most)
        if known is not None:
            return known
        blocks = self._all_blocks()
        steps, sums, finite = blocks.steps, blocks.sums, blocks.finite
        while most is not None and len(steps) > most:
            steps, sums, finite = _last_of_pairs(steps), _pair_sums(sums), _pair_sums(finite)
        if finite.all():
            known = Points(steps, sums / finite)
        else:
            some = finite > 0
            known = Points(steps[some], sums[some] / finite[some])
        self._thinned[most] = known
        return known

    def walls(self) -> tuple[Ints, Floats]:
        """Steps and wall times over the whole series."""
        blocks = self._all_blocks()
        return blocks.steps, blocks.walls

    @property
    def low(self) -> float:
        """The smallest finite value; infinity if there is none."""
        blocks = self._all_blocks()
        return float(blocks.low.min()) if len(blocks) else float("inf")

    @property
    def high(self) -> float:
        """The largest finite value; minus infinity if there is none."""
        blocks = self._all_blocks()
        return float(blocks.high.max()) if len(blocks) else float("-inf")

    def step_of_high(self) -> int:
        """The last step of the block with the largest value."""
        blocks = self._all_blocks()
        return int(blocks.steps[int(np.argmax(blocks.high))])

    def alarms(self, change: Change) -> list[Alarm]:
        """The episodes that a change test found. The track must have been created with that test."""
        return [Alarm(**alarm) for alarm in self._tests[change].alarms]

    def carries(self, change: Change) -> bool:
        """Whether the track was created with this change test."""
        return change in self._tests

    # ---- keeping

    def _all_blocks(self) -> _Blocks:
        if self._joined is None:
            self._joined = self._join_blocks()
        return self._joined

    def _join_blocks(self) -> _Blocks:
        rest = self._pending
        if len(rest) > 1 and self.block_points > 1:
            sums = rest.sums
            while len(sums) > 1:
                sums = _pair_sums(sums)
            rest = _Blocks(
                rest.steps[-1:],
                rest.walls[-1:],
                sums,
                rest.finite.sum(keepdims=True),
                rest.low.min(keepdims=True),
                rest.high.max(keepdims=True),
            )
        return self._blocks.joined(rest) if len(rest) else self._blocks

    def _add_blocks(self, steps: Ints, walls: Floats, values: Floats) -> None:
        pending = self._pending.joined(_Blocks.of(steps, walls, values))
        while (len(self._blocks) + len(pending) // self.block_points) > MOST_BLOCKS:
            self._widen(pending)
            pending = self._pending
        whole = len(pending) - len(pending) % self.block_points
        ready, self._pending = pending.first(whole), pending.from_(whole)
        size = self.block_points
        while size > 1:
            ready, size = ready.halved(), size // 2
        if len(ready):
            self._blocks = self._blocks.joined(ready)

    def _widen(self, pending: _Blocks) -> None:
        """Double the block size. Blocks start at multiples of their size, so their number must be even."""
        size = self.block_points
        if len(self._blocks) % 2:
            ready = pending.first(size)
            pending = pending.from_(size)
            while size > 1:
                ready, size = ready.halved(), size // 2
            self._blocks = self._blocks.joined(ready)
        self._blocks = self._blocks.halved()
        self._pending = pending
        self.block_points *= 2

    def _note_not_finite(self, steps: Ints, values: Floats) -> None:
        wrong = ~np.isfinite(values)
        seen = self.not_finite
        if not wrong.any():
            seen.in_a_row = 0
            return
        nan = int(np.isnan(values).sum())
        seen.nan += nan
        seen.inf += int(wrong.sum()) - nan
        at = np.flatnonzero(wrong)
        if seen.first_step is None:
            seen.first_step = int(steps[at[0]])
        seen.last_step = int(steps[at[-1]])
        edges = np.flatnonzero(np.diff(np.concatenate([[False], wrong, [False]]).astype(np.int8)))
        starts, ends = edges[::2], edges[1::2]
        lengths = ends - starts
        if starts[0] == 0:
            lengths[0] += seen.in_a_row
        seen.longest_row = max(seen.longest_row, int(lengths.max()))
        seen.in_a_row = int(lengths[-1]) if ends[-1] == len(values) else 0

    def _note_streaks(self, steps: Ints, values: Floats) -> None:
        cuts = np.flatnonzero(values[1:] != values[:-1]) + 1
        starts = np.concatenate([[0], cuts])
        ends = np.concatenate([cuts, [len(values)]])
        lengths = ends - starts
        before = self.streak
        goes_on = before is not None and values[0] == before.value
        if goes_on and before is not None:
            before.length += int(lengths[0])
            before.last_step = int(steps[ends[0] - 1])
            self._keep_streak(before)
        rest = slice(1, None) if goes_on else slice(0, None)
        if len(lengths[rest]):
            best = int(np.argmax(lengths[rest])) + (1 if goes_on else 0)
            for i in sorted({best, len(lengths) - 1}):
                streak = Streak(
                    float(values[starts[i]]), int(lengths[i]), int(steps[starts[i]]), int(steps[ends[i] - 1])
                )
                self._keep_streak(streak)
                if i == len(lengths) - 1:
                    self.streak = streak

    def _keep_streak(self, streak: Streak) -> None:
        if np.isnan(streak.value):
            return
        if self.longest_streak is None or streak.length > self.longest_streak.length:
            self.longest_streak = Streak(streak.value, streak.length, streak.first_step, streak.last_step)


def _pair_sums(values: Any) -> Any:
    """Sums of neighboring pairs; a last one without a neighbor stays."""
    cut = len(values) - len(values) % 2
    pairs = values[:cut:2] + values[1:cut:2]
    return pairs if cut == len(values) else np.concatenate([pairs, values[cut:]])


def _last_of_pairs(values: Ints) -> Ints:
    return values[1::2] if len(values) % 2 == 0 else np.concatenate([values[1::2], values[-1:]])


def _joined(points: Points, steps: Ints, values: Floats, *, most: int) -> Points:
    joined = Points(np.concatenate([points.steps, steps]), np.concatenate([points.values, values]))
    return Points(joined.steps[-most:], joined.values[-most:])
