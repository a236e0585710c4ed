"""Steps for the rows of a table, from whatever columns count the training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.read.axis.info import AxisInfo, AxisKind
from pulseboard.read.axis.names import (
    TOTAL,
    amount_columns,
    epoch_columns,
    last_resort_columns,
    rising_step_columns,
    step_columns,
)
from pulseboard.read.axis.restarts import Restarts, find_restarts
from pulseboard.read.axis.rows_of_epoch import rows_of_epochs
from pulseboard.read.axis.same_clock import columns_of_clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# A torn or garbled row may spoil a few counts; a column with more of them does not count anything.
_MIN_SOUND_FRAC = 0.9
# A column of counts has one in at least this share of the rows, if there is any such column.
_MIN_ROWS_FRAC, _MIN_FEW_ROWS_FRAC = 0.3, 0.001
# A count that occurs once is a setting rather than a counter, unless the table is this short.
_FEW_ROWS = 4
# Long columns are looked at in blocks that stay in the processor's cache: fresh memory costs more than arithmetic.
_BLOCK = 1 << 15
_MIN_OF_MOST_FRAC = 0.5
# Of the falls of an iteration counter, this share must come with a new epoch for the two to belong together.
_MIN_TOGETHER_FRAC = 0.8
# A count that falls more often than this, where another numbers the rows, is the length of an episode.
_MOST_FALLS_FRAC = 0.05
# A fractional epoch, such as 0.64, is a step if this many parts of an epoch suffice to write it.
_MAX_PARTS_OF_EPOCH = 100_000
_MAX_EPOCH = 1e9
# From this many blocks on, a count in the last row of each is that of the rows before it.
_MIN_BLOCKS = 3
# Fractions of epochs that most rows share with another are rounded, and do not tell rows apart.
_MIN_DISTINCT_FRAC = 0.5


@dataclass(frozen=True, slots=True)
class Axis:
    """How a table's steps were found, and the steps."""

    kind: AxisKind
    columns: tuple[str, ...]  # that hold the counts: they are not metrics
    steps: Ints  # one per row
    restarts: Restarts
    steps_per_epoch: float | None = None  # if both are known
    note: str = ""  # what a reader of the chart should know; empty if the log simply has steps

    @property
    def info(self) -> AxisInfo:
        """The axis without its rows."""
        return AxisInfo(self.kind, self.columns, self.steps_per_epoch, self.note)


@dataclass(frozen=True, slots=True)
class Column:
    """The numbers of one column: `values[i]` was logged in row `rows[i]`."""

    rows: Ints
    values: Floats


def build_axis(columns: Mapping[str, Column], row_count: int) -> Axis:
    """The axis of a table. Rows without a count take that of the row before."""
    lengths = {name: len(column.rows) for name, column in columns.items()}
    few = _in_rows(lengths, row_count, _MIN_FEW_ROWS_FRAC)
    for counting in (_in_rows(lengths, row_count, _MIN_ROWS_FRAC), few):
        if axis := _axis_of(counting, few, columns, row_count):
            return axis
    return Axis("row", (), np.arange(row_count, dtype=np.int64), Restarts.none(row_count), note=_ROWS)


def step_candidates(lengths: Mapping[str, int], row_count: int) -> list[str]:
    """The columns that may count the steps, best first, by their names and by how many numbers they have."""
    return _most_frequent(step_columns(_in_rows(lengths, row_count, _MIN_ROWS_FRAC)), lengths)


def _in_rows(lengths: Mapping[str, int], row_count: int, min_frac: float) -> list[str]:
    """The columns with a number in at least this share of the rows."""
    return [
        name
        for name, length in lengths.items()
        if length >= min_frac * row_count and (length > 1 or row_count <= _FEW_ROWS)
    ]


def _axis_of(names: list[str], few: list[str], columns: Mapping[str, Column], row_count: int) -> Axis | None:
    """The axis from the columns in `names`; None if none of them counts the rows.

    Epochs that go with iterations may be in `few` rows: on a line of their own before them.
    """
    epochs = next((name for name in epoch_columns(few) if _counts(columns[name], row_count, whole=False)), None)
    lengths = {name: len(columns[name].rows) for name in names}
    for name in _most_frequent(step_columns(names), lengths):
        if not _counts(columns[name], row_count, whole=True):
            continue
        if (episodes := _episodes(names, columns, row_count)) and _falls_often(columns[name]):
            return _steps(columns, episodes, row_count)
        if epochs is not None and (axis := _epochs_and_iterations(columns, epochs, name, row_count)):
            return axis
        return _steps(columns, name, row_count)
    if epochs is not None and epochs in names and _rises(columns[epochs]):
        return _epochs(columns, epochs, row_count)
    if rising := [name for name in rising_step_columns(names) if _rises(columns[name])]:
        return _steps(columns, max(rising, key=lambda name: _span(columns[name])), row_count)
    if epochs is not None and epochs in names:
        return _epochs(columns, epochs, row_count)
    for name in last_resort_columns(names):
        if _counts(columns[name], row_count, whole=True):
            return _steps(columns, name, row_count)
    amount = next((name for name in amount_columns(names) if _rises(columns[name])), None)
    return _steps(columns, amount, row_count) if amount else None


def _episodes(names: list[str], columns: Mapping[str, Column], row_count: int) -> str | None:
    """The column that numbers the rows, one episode each."""
    whole = [name for name in last_resort_columns(names) if len(columns[name].rows) == row_count]
    return next((name for name in whole if _rises(columns[name])), None)


def _falls_often(column: Column) -> bool:
    """Whether a count goes up and down, such as the length of an episode: then it does not count the training."""
    values = column.values
    return bool((values[1:] < values[:-1]).mean() > _MOST_FALLS_FRAC) if len(values) > _FEW_ROWS else False


def _rises(column: Column) -> bool:
    """Whether whole numbers rise from each to the next."""
    values = column.values
    return len(values) > 1 and bool(
        values[0] >= 0 and (values[1:] > values[:-1]).all() and sound_numbers(values, whole=True).all()
    )


def _span(column: Column) -> float:
    return float(column.values[-1] - column.values[0])


def _most_frequent(names: list[str], lengths: Mapping[str, int]) -> list[str]:
    """The columns without those that have far fewer numbers than another: a mention of a step is not the step."""
    most = max((lengths[name] for name in names), default=0)
    return [name for name in names if lengths[name] >= _MIN_OF_MOST_FRAC * most]


def _steps(columns: Mapping[str, Column], name: str, row_count: int) -> Axis:
    names = columns_of_clock(name, columns, row_count)
    used = (*names, *(total for one in names for total in _total_of(one, columns)))
    steps = _filled(_at_begin_of_blocks(merged([columns[one] for one in names]), row_count), row_count)
    restarts = find_restarts(steps, columns, counts=used)
    if restarts.is_counter_per_epoch and (unrolled := restarts.unrolled) is not None:
        return Axis("step", used, unrolled, restarts.cleared(), note=_UNROLLED)
    return Axis("step", used, steps, restarts)


def merged(columns: Sequence[Column]) -> Column:
    """Columns without a row in common as one, in the order of the rows."""
    if len(columns) == 1:
        return columns[0]
    rows = np.concatenate([column.rows for column in columns])
    order = np.argsort(rows, kind="stable")
    return Column(rows[order], np.concatenate([column.values for column in columns])[order])


_ROWS = "The log has no steps; rows are counted from 0."
_ROUNDED = "The log has rounded epochs and no steps; rows are counted from 0."
_UNROLLED = "The step counter restarts every epoch; its epochs were joined."


def _counts(column: Column, row_count: int, *, whole: bool) -> bool:
    """Whether a column looks like a counter: finite, not negative, whole if asked for, and not all the same."""
    values = column.values
    if not len(values):
        return False
    sound = sound_numbers(values, whole=whole)
    if sound.sum() < _MIN_SOUND_FRAC * len(values):
        return False
    if row_count <= _FEW_ROWS or len(values) == 1:
        return True
    counts = values if sound.all() else values[sound]
    return float(counts.min()) != float(counts.max())


def sound_numbers(values: Floats, *, whole: bool, limit: float = 2.0**62) -> NDArray[np.bool_]:
    """Which numbers are finite, not too large for a count, and whole if asked for."""
    sound = np.empty(len(values), np.bool_)
    for begin in range(0, len(values), _BLOCK):
        block = values[begin : begin + _BLOCK]
        found = np.abs(block) < limit  # false for NaN
        if whole:
            found &= block == np.floor(block)
        sound[begin : begin + _BLOCK] = found
    return sound


def _filled(column: Column, row_count: int) -> Ints:
    """A count for every row: its own, else that of the row before, else the first one."""
    values = column.values
    sound = sound_numbers(values, whole=True)
    if len(values) == row_count and sound.all():  # as in most tables
        return values.astype(np.int64)
    rows, counts = column.rows[sound], values[sound].astype(np.int64)
    source = np.zeros(row_count, np.int64)
    source[rows] = np.arange(len(rows))
    filled: Ints = counts[np.maximum.accumulate(source)]
    return filled


def _at_begin_of_blocks(column: Column, row_count: int) -> Column:
    """The column, moved to the first row of each block if the count is in the last one: losses, then `step 20`.

    Then there are as many rows before the first count as between two counts, and fewer after the last.
    """
    rows = column.rows
    if len(rows) < _MIN_BLOCKS or len(rows) == row_count:
        return column
    before = np.diff(rows, prepend=-1) - 1
    usual = float(np.median(before))
    alike = (before >= usual / 2) & (before <= usual * 2)
    if row_count - 1 - int(rows[-1]) >= usual or not alike[0] or alike.mean() < _MIN_TOGETHER_FRAC:
        return column
    return Column(rows - before, column.values)


def _total_of(name: str, columns: Mapping[str, Column]) -> tuple[str, ...]:
    return (name + TOTAL,) if name + TOTAL in columns else ()


def _epochs_and_iterations(columns: Mapping[str, Column], epochs: str, iterations: str, row_count: int) -> Axis | None:
    """Epoch x iteration, if the iterations start again with every epoch; None if they do not."""
    epoch = _filled_numbers(columns[epochs], row_count)
    counted = columns[iterations]
    iteration = _filled(counted, row_count)
    in_all_rows = len(counted.rows) == row_count
    own = iteration if in_all_rows else iteration[counted.rows]  # other rows repeat the count before
    own_epoch = epoch if in_all_rows else epoch[counted.rows]
    falls = np.flatnonzero(own[1:] < own[:-1])
    if not len(falls) and not _starts_again(own, own_epoch):
        return None
    rises = np.flatnonzero(own_epoch[1:] > own_epoch[:-1])
    if not len(falls):
        falls = rises  # one row per epoch, each with the same count
    if not len(rises):
        return None
    changes = np.flatnonzero(own_epoch[1:] != own_epoch[:-1])
    together = np.isin(falls, changes).mean()
    if together < _MIN_TOGETHER_FRAC:
        return None
    per_epoch = _iterations_per_epoch(columns, iterations, own, own_epoch)
    if per_epoch * float(np.abs(epoch).max()) >= 2.0**62:
        return None
    first = math.floor(float(own_epoch.min()))
    steps = ((np.floor(epoch) - first) * per_epoch).astype(np.int64) + iteration
    # A row that names an epoch but no iteration, such as a validation at the end of it, comes after that epoch's rows.
    known = np.zeros(row_count, np.bool_)
    known[counted.rows] = True
    later = ~known & (np.floor(epoch) > _filled_numbers(Column(counted.rows, own_epoch), row_count))
    steps[later] = ((np.floor(epoch[later]) - first) * per_epoch).astype(np.int64)
    used = (epochs, iterations, *_total_of(epochs, columns), *_total_of(iterations, columns))
    note = f"Steps are {epochs} x {per_epoch:g} + {iterations}."
    restarts = find_restarts(steps, columns, counts=used, laps=False)
    return Axis("epoch x iteration", used, steps, restarts, per_epoch, note)


def _starts_again(iterations: Ints, epochs: Floats) -> bool:
    return len(iterations) > 1 and iterations.min() == iterations.max() and epochs.min() != epochs.max()


def _iterations_per_epoch(columns: Mapping[str, Column], name: str, own: Ints, epoch: Floats) -> int:
    """From the total that the log prints (40/1251), else from the largest count and the distance between counts."""
    if total := columns.get(name + TOTAL):
        values = total.values[np.isfinite(total.values)]
        if len(values) and (found := int(np.median(values))) >= own.max() * 0.99:
            return max(1, found)
    rising = np.diff(own)[np.diff(own) > 0]
    stride = int(np.median(rising)) if len(rising) else 1
    return max(1, int(own.max()) + (stride if own.min() == 0 else 0))


def _filled_numbers(column: Column, row_count: int) -> Floats:
    sound = np.abs(column.values) < _MAX_EPOCH  # false for NaN
    if len(sound) == row_count and sound.all():  # as in most tables
        return column.values
    rows, values = column.rows[sound], column.values[sound]
    if not len(rows):
        return np.zeros(row_count)
    source = np.zeros(row_count, np.int64)
    source[rows] = np.arange(len(rows))
    return values[np.maximum.accumulate(source)]


def _epochs(columns: Mapping[str, Column], name: str, row_count: int) -> Axis:
    """Epochs as steps. Fractions of an epoch are counted in equal parts of it."""
    epoch = _filled_numbers(columns[name], row_count)
    used = (name, *_total_of(name, columns))
    parts = _parts_of_epoch(epoch)
    if parts is None:
        return Axis("row", used, np.arange(row_count, dtype=np.int64), Restarts.none(row_count), note=_ROWS)
    if parts > 1 and len(np.unique(epoch)) < _MIN_DISTINCT_FRAC * row_count:
        return Axis("row", (), np.arange(row_count, dtype=np.int64), Restarts.none(row_count), note=_ROUNDED)
    steps = np.rint(epoch * parts).astype(np.int64)
    note = f"Steps are {name} x {parts}: the log has fractions of epochs and no steps." if parts > 1 else ""
    if parts == 1 and (places := rows_of_epochs(steps, columns, counts=used)) is not None:
        parts = places.per_epoch
        steps = steps * parts + places.rows
        note = f"Steps are {name} x {parts} + row within it: the log has several rows per epoch and no steps."
    restarts = find_restarts(steps, columns, counts=used, laps=False)
    return Axis("epoch", used, steps, restarts, float(parts), note)


def _parts_of_epoch(epoch: Floats) -> int | None:
    """How many steps an epoch has if each row is one: 1 for whole epochs, None if they are too many to be steps."""
    if (epoch == np.floor(epoch)).all():
        return 1
    distinct = np.unique(epoch)
    rises = np.diff(distinct)
    if not len(rises):
        return None
    parts = 1
    for quantile in (0.5, 0.1, 0.0):  # most rows are equally far apart; the last one of an epoch may be nearer
        rise = float(np.quantile(rises, quantile))
        if rise < 1 / _MAX_PARTS_OF_EPOCH or (parts := round(1 / rise)) < 1:
            return None
        if len(np.unique(np.rint(distinct * parts))) >= _MIN_SOUND_FRAC * len(distinct):
            break
    return parts
