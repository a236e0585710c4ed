"""The steps of rows that are added to a table whose steps never fall, by the way its steps were found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pulseboard.read.axis.build import Column, merged, sound_numbers, step_candidates
from pulseboard.read.axis.names import TOTAL, epoch_columns, is_counter, may_count, rising_step_columns
from pulseboard.read.parsing.line_table import TIME, UTC

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pulseboard.read.parsing.table_runs import Searched

    Ints = NDArray[np.int64]

Cells = tuple["NDArray[np.int64]", "NDArray[np.float64]"]
"""The places of a column's numbers among the new rows, and the numbers."""

# Greater numbers are not epochs, and not steps that a float holds exactly.
_MAX_EPOCH, _MAX_STEP = 1e9, 2.0**53
# `axis/build.py` takes a total for the length of an epoch if hardly any count is greater.
_MIN_OF_TOTAL = 0.99


class AddedSteps(Protocol):
    """How the next rows get their steps."""

    def of(
        self, columns: Mapping[str, Cells], row_count: int, lengths: Mapping[str, int], rows_before: int
    ) -> tuple[Ints, AddedSteps] | None:
        """The steps of new rows, and what gives the rows after them their steps; None if all rows must be searched.

        `lengths` are those of all columns, new rows included; `rows_before` is the number of rows before the new ones.
        """


def added_steps(table: Searched) -> AddedSteps | None:
    """How rows that are added to a table get their steps; None if all rows must be searched."""
    names = [name for name in table.columns if name not in (TIME, UTC)]
    if (table.axis.steps[1:] < table.axis.steps[:-1]).any():
        return None
    if table.axis.kind == "row":
        plain = not table.axis.columns and not any(is_counter(name) or may_count(name) for name in names)
        return _RowNumbers() if plain else None
    if table.axis.kind == "epoch x iteration":
        return _EpochsAndIterations.of_table(table, names)
    return _Counter.of_table(table, names)


@dataclass(frozen=True, slots=True)
class _RowNumbers:
    """Rows are counted."""

    def of(
        self, columns: Mapping[str, Cells], row_count: int, lengths: Mapping[str, int], rows_before: int
    ) -> tuple[Ints, AddedSteps] | None:
        if step_candidates(lengths, rows_before + row_count):
            return None
        return np.arange(rows_before, rows_before + row_count, dtype=np.int64), self


@dataclass(frozen=True, slots=True)
class _Counter:
    """One column counts steps or whole epochs, or several that are one counter."""

    names: tuple[str, ...]
    is_epoch: bool
    last: int
    last_row: int  # with a count
    adjacent: int  # counts in the row after another, or in the first row

    @classmethod
    def of_table(cls, table: Searched, names: list[str]) -> _Counter | None:
        axis, name = table.axis, table.axis.columns[0]
        lengths = {name: len(table.columns[name].rows) for name in names}
        candidates = step_candidates(lengths, table.row_count)
        is_epoch = axis.kind == "epoch"
        if is_epoch and (candidates or epoch_columns(names)[:1] != [name] or axis.steps_per_epoch != 1):
            return None
        if not is_epoch and candidates[:1] != [name]:
            return None
        if is_epoch and rising_step_columns(names):  # which count where epochs do not rise
            return None
        counters = tuple(one for one in axis.columns if not one.endswith(TOTAL))
        column = merged([table.columns[one] for one in counters])
        if axis.note or not _is_whole(column.values, _MAX_EPOCH if is_epoch else _MAX_STEP):
            return None
        rows = column.rows
        in_all_rows = len(rows) == rows[-1] + 1
        adjacent = len(rows) if in_all_rows else int((np.diff(rows, prepend=-1) == 1).sum())
        return cls(counters, is_epoch, int(axis.steps[-1]), int(rows[-1]), adjacent)

    def of(
        self, columns: Mapping[str, Cells], row_count: int, lengths: Mapping[str, int], rows_before: int
    ) -> tuple[Ints, AddedSteps] | None:
        best = step_candidates(lengths, rows_before + row_count)
        if bool(best) == self.is_epoch or (best and best[0] != self.names[0]):
            return None
        steps = np.full(row_count, self.last, np.int64)
        after = self
        if added := [Column(*columns[name]) for name in self.names if name in columns]:
            both = merged(added)
            at, counts = both.rows, both.values
            if (np.diff(at) == 0).any() or not _is_whole(counts, _MAX_EPOCH if self.is_epoch else _MAX_STEP):
                return None
            if counts[0] < self.last or (np.diff(counts) < 0).any():
                return None
            steps[at] = counts.astype(np.int64)
            steps = np.maximum.accumulate(steps)
            rows = rows_before + at
            adjacent = self.adjacent + int((np.diff(rows, prepend=self.last_row) == 1).sum())
            after = replace(self, last=int(steps[-1]), last_row=int(rows[-1]), adjacent=adjacent)
        # With fewer, a count may belong to the rows before it.
        return (steps, after) if 2 * after.adjacent > sum(lengths[name] for name in self.names) + 1 else None


@dataclass(frozen=True, slots=True)
class _EpochsAndIterations:
    """Iterations that start again with every epoch, and their total: `[3][40/1251]`."""

    epochs: str
    iterations: str
    total: int
    first: int  # epoch
    epoch: float  # of the last row
    iteration: int
    counted_epoch: float  # of the last row with an iteration
    last: int  # step

    @classmethod
    def of_table(cls, table: Searched, names: list[str]) -> _EpochsAndIterations | None:
        epochs, iterations = table.axis.columns[:2]
        totals = table.columns.get(iterations + TOTAL)
        epoch, counted = table.columns[epochs], table.columns[iterations]
        lengths = {name: len(table.columns[name].rows) for name in names}
        if (
            totals is None
            or (totals.values != totals.values[0]).any()
            or totals.values[0] != table.axis.steps_per_epoch
        ):
            return None
        if step_candidates(lengths, table.row_count)[:1] != [iterations] or epoch_columns(names)[:1] != [epochs]:
            return None
        if not _is_whole(epoch.values, _MAX_EPOCH) or not _is_whole(counted.values, _MAX_EPOCH):
            return None
        own = np.searchsorted(epoch.rows, counted.rows, side="right") - 1
        falls, changes = np.diff(counted.values) < 0, np.diff(epoch.values[own.clip(min=0)]) != 0
        # Rows before the first epoch take it; falls without another epoch may be restarts.
        if own[0] < 0 or not falls.any() or (falls & ~changes).any() or (np.diff(epoch.values) < 0).any():
            return None
        return cls(
            epochs,
            iterations,
            int(totals.values[0]),
            int(epoch.values[own].min()),
            float(epoch.values[-1]),
            int(counted.values[-1]),
            float(epoch.values[own[-1]]),
            int(table.axis.steps[-1]),
        )

    def of(
        self, columns: Mapping[str, Cells], row_count: int, lengths: Mapping[str, int], rows_before: int
    ) -> tuple[Ints, AddedSteps] | None:
        if step_candidates(lengths, rows_before + row_count)[:1] != [self.iterations]:
            return None
        totals = columns.get(self.iterations + TOTAL)
        if totals is not None and (totals[1] != self.total).any():
            return None
        epoch, iteration = np.full(row_count, self.epoch), np.full(row_count, float(self.iteration))
        counted = np.zeros(row_count, np.bool_)
        for name, filled in ((self.epochs, epoch), (self.iterations, iteration)):
            if name not in columns:
                continue
            at, values = columns[name]
            if not _is_whole(values, _MAX_EPOCH):
                return None
            filled[at[0] :] = np.repeat(values, np.diff(at, append=row_count))
            if name == self.iterations:
                counted[at] = True
        if iteration.max() * _MIN_OF_TOTAL > self.total or (np.diff(epoch, prepend=self.epoch) < 0).any():
            return None
        own, own_epoch = iteration[counted], epoch[counted]
        falls = np.diff(own, prepend=self.iteration) < 0
        if (falls & (np.diff(own_epoch, prepend=self.counted_epoch) == 0)).any():
            return None
        before = np.full(row_count, self.counted_epoch)  # the epoch of the last iteration up to a row
        if counted.any():
            at = np.flatnonzero(counted)
            before[at[0] :] = np.repeat(own_epoch, np.diff(at, append=row_count))
        steps = ((epoch - self.first) * self.total + iteration).astype(np.int64)
        later = ~counted & (epoch > before)
        steps[later] = ((epoch[later] - self.first) * self.total).astype(np.int64)
        if (np.diff(steps, prepend=self.last) < 0).any():
            return None
        return steps, replace(
            self,
            epoch=float(epoch[-1]),
            iteration=int(iteration[-1]),
            counted_epoch=float(before[-1]),
            last=int(steps[-1]),
        )


def _is_whole(values: NDArray[np.float64], limit: float) -> bool:
    return bool(sound_numbers(values, whole=True, limit=limit).all())
