"""Counters that fall: a training that was resumed, a second training in the same file, or a counter per epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pulseboard.read.axis.build import Column

    Ints = NDArray[np.int64]

# Logs print the rows of several ranks, or of training and validation, out of order. A fall counts if at least this many
# rows in a row stay below what was reached before.
_MIN_ROWS_BELOW = 2
# More falls than this are not restarts of a training.
_MAX_RESTARTS = 64
# A counter that always runs equally far is a counter per epoch from this many runs on.
_MIN_EQUAL_LAPS = 3
_EQUAL_FRAC = 0.05


@dataclass(frozen=True, slots=True)
class Restarts:
    """Where a counter falls back.

    `parts` numbers the trainings in the table, from 0: a row belongs to the training `parts[row]`. `orphaned` marks
    rows that a resume within their training replaced.
    """

    parts: NDArray[np.int32]
    orphaned: NDArray[np.bool_]
    resumed_at: tuple[int, ...] = ()  # rows
    is_counter_per_epoch: bool = False
    unrolled: Ints | None = None  # the counter without its falls, if it is one per epoch

    @property
    def part_count(self) -> int:
        """How many trainings the table has."""
        return int(self.parts.max()) + 1 if len(self.parts) else 1

    def cleared(self) -> Restarts:
        """The same rows as one training without restarts."""
        return Restarts.none(len(self.parts))

    @staticmethod
    def none(row_count: int) -> Restarts:
        """A counter that never falls."""
        return Restarts(np.zeros(row_count, np.int32), np.zeros(row_count, np.bool_))


def find_restarts(steps: Ints, columns: Mapping[str, Column], *, counts: Sequence[str], laps: bool = True) -> Restarts:
    """Restarts in a column of steps, one per row. `counts` are the columns of the steps themselves.

    With `laps`, a counter that always runs equally far may be one per epoch.
    """
    metrics = {name: column for name, column in columns.items() if name not in counts}
    falls = _falls(steps)
    if len(falls) <= _MAX_RESTARTS:
        falls = np.array(list(_repeating(falls, len(steps), metrics)), np.int64)
    if not len(falls):
        return Restarts.none(len(steps))
    if laps and _are_laps(np.split(steps, falls), falls, columns):
        unrolled = _unrolled(np.split(steps, falls))
        return Restarts(np.zeros(len(steps), np.int32), np.zeros(len(steps), np.bool_), (), True, unrolled)
    if len(falls) > _MAX_RESTARTS:
        return Restarts.none(len(steps))
    parts = np.zeros(len(steps), np.int32)
    orphaned = np.zeros(len(steps), np.bool_)
    resumed: list[int] = []
    begin = 0  # of the present training
    for row in falls.tolist():
        reached = steps[begin:row]
        if _begins_again(int(steps[row]), reached):
            parts[row:] += 1
            begin = row
        else:
            orphaned[begin:row] |= reached >= steps[row]
            resumed.append(row)
    return Restarts(parts, orphaned, tuple(resumed))


def _falls(steps: Ints) -> Ints:
    """The rows at which the counter falls and stays below what it had reached."""
    if len(steps) < 2:
        return np.zeros(0, np.int64)
    candidates = np.flatnonzero(steps[1:] < steps[:-1]) + 1
    kept: list[int] = []
    begin = 0
    for row in candidates.tolist():
        reached = int(steps[begin:row].max())
        ahead = steps[row : row + _MIN_ROWS_BELOW]
        if len(ahead) < _MIN_ROWS_BELOW or row - begin < _MIN_ROWS_BELOW:
            continue
        is_below = bool((ahead < reached).all())
        if is_below or ((ahead <= reached).all() and np.isin(ahead, steps[begin:row]).all()):  # steps that are repeated
            kept.append(row)
            begin = row
        if len(kept) > 4096:
            break
    return np.array(kept, np.int64)


def _repeating(falls: Ints, row_count: int, metrics: Mapping[str, Column]) -> Iterator[int]:
    """The falls after which a column comes that was logged before. Others begin a second table of the same training."""
    rows = falls.tolist()
    begin = 0
    for row, end in zip(rows, [*rows[1:], row_count], strict=False):
        if not metrics or any(
            _has_rows(column, begin, row) and _has_rows(column, row, end) for column in metrics.values()
        ):
            yield row
            begin = row


def _has_rows(column: Column, begin: int, end: int) -> bool:
    at = int(np.searchsorted(column.rows, begin))
    return at < len(column.rows) and int(column.rows[at]) < end


def _begins_again(step: int, reached: Ints) -> bool:
    """Whether a fall to `step` is the beginning of another training: at or before the first step of this one."""
    first = int(reached[0])
    rises = np.diff(reached)
    rises = rises[rises > 0]
    stride = int(np.median(rises)) if len(rises) else 1
    return step <= first + stride


def _are_laps(laps: list[Ints], falls: Ints, columns: Mapping[str, Column]) -> bool:
    """Whether the counter restarts every epoch: all laps but the last are equally long, and the loss continues."""
    whole = laps[:-1]
    if len(whole) < _MIN_EQUAL_LAPS - 1:
        return False
    ends = np.array([int(lap.max()) for lap in whole], np.float64)
    begins = np.array([int(lap[0]) for lap in laps], np.float64)
    span = max(1.0, float(np.median(ends)))
    equal = (np.abs(ends - np.median(ends)) <= _EQUAL_FRAC * span).all() and float(laps[-1].max()) <= 1.05 * span
    same_begin = (np.abs(begins - begins[0]) <= _EQUAL_FRAC * span).all()
    return bool(equal and same_begin and not _loss_begins_again(falls, columns))


def _loss_begins_again(falls: Ints, columns: Mapping[str, Column]) -> bool:
    """Whether a loss jumps back to its first level at most falls, as in trainings appended to one another."""
    for name, column in columns.items():
        if "loss" not in name.lower() or len(column.rows) < 4 * (len(falls) + 1):
            continue
        jumps = 0
        at = np.searchsorted(column.rows, falls)
        for begin, place, end in zip(
            [0, *at[:-1].tolist()], at.tolist(), [*at[1:].tolist(), len(column.rows)], strict=True
        ):
            few = max(1, min(place - begin, end - place) // 10)
            first, last = _level(column.values[begin : begin + few]), _level(column.values[max(0, place - few) : place])
            after = _level(column.values[place : place + few])
            jumps += int(abs(after - first) < abs(after - last))
        return 2 * jumps > len(falls)
    return False


def _level(values: NDArray[np.float64]) -> float:
    """The median of the numbers; NaN if there are none."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")


def _unrolled(laps: list[Ints]) -> Ints:
    """Laps put one after the other."""
    longest = max(int(lap.max()) for lap in laps)
    rises = np.concatenate([np.diff(lap) for lap in laps])
    rises = rises[rises > 0]
    lowest = min(int(lap.min()) for lap in laps)
    length = longest - lowest + (int(np.median(rises)) if len(rises) else 1)
    return np.concatenate([lap + i * length for i, lap in enumerate(laps)])
