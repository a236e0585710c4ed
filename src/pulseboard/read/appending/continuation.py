"""The series of a table, and whether rows that were added continue them: no search of the rows before is needed then.

A table is searched for its steps, wall times and metrics as a whole, because a later row may change what an earlier one
means. Nearly all tables are the same throughout, and then the search has the same result with every row that is added.
`Continuation.of` says whether this is such a table, and `add` whether new rows are such rows. When in doubt, no.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pulseboard.core.series import Series
from pulseboard.read.appending.growing_array import GrowingArray
from pulseboard.read.axis.build import Column, step_candidates
from pulseboard.read.axis.names import epoch_columns, is_counter, step_columns
from pulseboard.read.format import RunData
from pulseboard.read.parsing.line_table import TIME, UTC
from pulseboard.read.parsing.table_runs import MANY_ROWS, Searched, as_secs, from_local

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A table that has this many times the rows it had is searched again.
_MAX_GROWTH = 2
# Of a column with fewer numbers, another one may change what it is taken for.
_MIN_LENGTH = 3
# Greater numbers are not epochs, and not steps that a float holds exactly.
_MAX_EPOCH, _MAX_STEP = 1e9, 2.0**53


class RowRules(Protocol):
    """What new rows of a format must be like, apart from what holds for every table."""

    def accepts(self, columns: Mapping[str, Column], rows: NDArray[np.int64]) -> bool:
        """Whether the search would keep these columns in all of the rows, and nothing else than before."""

    @property
    def ignored(self) -> Mapping[str, float]:
        """Columns that the search left out because they repeat this number."""


@dataclass(slots=True)
class _Group:
    """Series with the same steps."""

    tags: list[str]
    steps: GrowingArray
    wall_times: GrowingArray
    orphaned: GrowingArray
    values: list[GrowingArray]  # one per tag


class Continuation:
    """The series of a table that is the same throughout."""

    def __init__(self, table: Searched, run: RunData, rules: RowRules | None) -> None:
        self._rules = rules
        self._max_rows = _MAX_GROWTH * table.row_count
        self._axis = run.axis
        self._order = list(run.series)
        self._lengths = {name: len(one.rows) for name, one in table.columns.items() if name not in (TIME, UTC)}
        self._row_count = table.row_count
        self._counter = table.axis.columns[0] if table.axis.columns else None
        self._last_step = int(table.axis.steps[-1])
        self._max_step = _MAX_EPOCH if table.axis.kind == "epoch" else _MAX_STEP
        counted = np.zeros(0, np.int64) if self._counter is None else table.columns[self._counter].rows
        self._last_counted = int(counted[-1]) if len(counted) else -1
        self._adjacent = int((np.diff(counted, prepend=-1) == 1).sum())
        """Counts in the row after another, or in the first row."""
        self._time_name = table.time_name
        self._time_like = 0.0 if table.time_name is None else float(table.columns[table.time_name].values[0])
        groups: dict[int, list[str]] = {}
        for tag, series in run.series.items():
            groups.setdefault(id(series.steps), []).append(tag)
        self._groups = [_group(tags, run.series) for tags in groups.values()]
        known = table.wall_times[np.isfinite(table.wall_times)]
        self._span = (float(known.min()), float(known.max())) if len(known) else (math.nan, math.nan)

    @classmethod
    def of(
        cls, raw: Mapping[str, int], table: Searched, runs: list[RunData], rules: RowRules | None
    ) -> Continuation | None:
        """The series of a table, whose columns had the lengths `raw` before the search; None if it must be searched
        again with every row."""
        if len(runs) != 1 or table.row_count <= MANY_ROWS or runs[0].restarts or not runs[0].series:
            return None
        if any(name in raw and len(column.rows) != raw[name] for name, column in table.columns.items()):
            return None  # only some of its numbers were kept
        return cls(table, runs[0], rules) if _is_plain(table) else None

    def run(self, *, notes: list[Any], config: Mapping[str, Any]) -> RunData:
        """The run as it is now."""
        return self._data(notes, config, self._series())

    def run_with(self, last: Mapping[str, Column], *, notes: list[Any], config: Mapping[str, Any]) -> RunData | None:
        """The run as it would be with a further row; None if that row must be searched."""
        rows = self._rows_of(last)
        return None if rows is None else self._data(notes, config, self._series(rows), rows)

    def add(self, new: Mapping[str, Column]) -> bool:
        """Add rows. False if the table must be searched again, with another object."""
        rows = self._rows_of(new)
        if rows is None:
            return False
        if not len(rows.steps):
            return True
        self._row_count += len(rows.steps)
        self._last_step = int(rows.steps[-1])
        self._last_counted, self._adjacent = rows.last_counted, rows.adjacent
        for name, (at, _) in rows.columns.items():
            self._lengths[name] += len(at)
        self._span = rows.span_with(self._span)
        for group in self._groups:
            if group.tags[0] in rows.columns:
                at = rows.columns[group.tags[0]][0]
                group.steps.append(rows.steps[at])
                group.wall_times.append(rows.wall_times[at])
                group.orphaned.append(np.zeros(len(at), np.bool_))
                for tag, values in zip(group.tags, group.values, strict=True):
                    values.append(rows.columns[tag][1])
        return True

    # ---- what is new

    def _rows_of(self, new: Mapping[str, Column]) -> _NewRows | None:
        """New rows with their steps and wall times; None if they are not like those before."""
        kept: dict[str, Column] = {}
        ignored = {} if self._rules is None else self._rules.ignored
        for name, column in new.items():
            if self._lengths.get(name, 0) >= _MIN_LENGTH:
                kept[name] = column
            elif name in ignored:
                if (column.values != ignored[name]).any():
                    return None
            elif name not in (TIME, UTC):
                return None
        if not kept:
            return _NewRows({}, np.zeros(0, np.int64), np.zeros(0), self._last_counted, self._adjacent)
        raw_rows = np.unique(np.concatenate([column.rows for column in kept.values()]))
        if self._rules is not None and not self._rules.accepts(kept, raw_rows):
            return None
        columns = {name: (np.searchsorted(raw_rows, one.rows), one.values) for name, one in kept.items()}
        steps, wall_times = self._steps(columns, len(raw_rows)), self._wall_times(new, columns, raw_rows)
        if steps is None or wall_times is None or not self._has_same_axis(columns, len(raw_rows)):
            return None
        for group in self._groups:
            at = columns.get(group.tags[0], (None,))[0]
            for tag in group.tags[1:]:
                other = columns.get(tag, (None,))[0]
                if (at is None) != (other is None) or not np.array_equal(at, other):  # type: ignore[arg-type]
                    return None
        counted = columns[self._counter][0] if self._counter in columns else np.zeros(0, np.int64)
        places = self._row_count + counted
        adjacent = self._adjacent + int((np.diff(places, prepend=self._last_counted) == 1).sum())
        last_counted = int(places[-1]) if len(places) else self._last_counted
        # With fewer, a count may belong to the rows before it.
        if self._counter is not None and 2 * adjacent <= self._lengths[self._counter] + len(counted) + 1:
            return None
        return _NewRows(columns, steps, wall_times, last_counted, adjacent)

    def _steps(self, columns: Mapping[str, _Cells], row_count: int) -> NDArray[np.int64] | None:
        """The steps of new rows; None if they fall or are not whole numbers."""
        if self._counter is None:
            return np.arange(self._row_count, self._row_count + row_count, dtype=np.int64)
        steps = np.full(row_count, self._last_step, np.int64)
        if self._counter not in columns:
            return steps
        at, counts = columns[self._counter]
        if not _is_whole(counts, self._max_step):
            return None
        steps[at] = counts.astype(np.int64)
        if counts[0] < self._last_step or (np.diff(counts) < 0).any():
            return None
        return np.maximum.accumulate(steps)

    def _has_same_axis(self, columns: Mapping[str, _Cells], row_count: int) -> bool:
        """Whether the column of the steps is still the best one."""
        row_count += self._row_count
        if row_count > self._max_rows:
            return False
        lengths = {name: n + len(columns[name][0]) if name in columns else n for name, n in self._lengths.items()}
        best = step_candidates(lengths, row_count)
        return best[0] == self._counter if best else self._counter is None or self._counter in epoch_columns([*lengths])

    def _wall_times(
        self, new: Mapping[str, Column], columns: Mapping[str, _Cells], raw_rows: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        wall_times = np.full(len(raw_rows), np.nan)
        if self._time_name is not None:
            if self._time_name in columns:
                at, values = columns[self._time_name]
                secs = as_secs(values, like=self._time_like)
                if secs is None:
                    return None
                wall_times[at] = secs
            return wall_times
        for name in (TIME, UTC):
            if name in new:
                at = np.searchsorted(raw_rows, new[name].rows).clip(max=len(raw_rows) - 1)
                here = raw_rows[at] == new[name].rows
                values = new[name].values[here]
                wall_times[at[here]] = from_local(values) if name == TIME else values
        return wall_times

    # ---- series

    def _series(self, rows: _NewRows | None = None) -> dict[str, Series]:
        found: dict[str, Series] = {}
        for group in self._groups:
            shared: list[NDArray[Any]] = [group.steps.taken(), group.wall_times.taken(), group.orphaned.taken()]
            own: list[NDArray[Any]] = [values.taken() for values in group.values]
            if rows is not None and group.tags[0] in rows.columns:
                at = rows.columns[group.tags[0]][0]
                further = (rows.steps[at], rows.wall_times[at], np.zeros(len(at), np.bool_))
                shared = [np.concatenate(pair) for pair in zip(shared, further, strict=True)]
                own = [
                    np.concatenate([values, rows.columns[tag][1]]) for tag, values in zip(group.tags, own, strict=True)
                ]
            steps, wall_times, orphaned = shared
            for tag, values in zip(group.tags, own, strict=True):
                found[tag] = Series(tag, steps, wall_times, values, orphaned)
        return {tag: found[tag] for tag in self._order}

    def _data(
        self, notes: list[Any], config: Mapping[str, Any], series: dict[str, Series], rows: _NewRows | None = None
    ) -> RunData:
        span = self._span if rows is None else rows.span_with(self._span)
        return RunData(series, config=dict(config), notes=notes, axis=self._axis, span=span)


_Cells = tuple["NDArray[np.int64]", "NDArray[np.float64]"]


@dataclass(frozen=True, slots=True)
class _NewRows:
    """Rows that continue a table."""

    columns: dict[str, _Cells]  # the places among the new rows, and the numbers
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    last_counted: int  # the row of the last count, of the whole table
    adjacent: int  # counts in the row after another, of the whole table

    def span_with(self, span: tuple[float, float]) -> tuple[float, float]:
        """The first and the last wall time, of what was before and of these rows."""
        known = self.wall_times[np.isfinite(self.wall_times)]
        if not len(known):
            return span
        first, last = float(known.min()), float(known.max())
        return (first, last) if math.isnan(span[0]) else (min(first, span[0]), max(last, span[1]))


def _group(tags: list[str], series: Mapping[str, Series]) -> _Group:
    one = series[tags[0]]
    return _Group(
        tags,
        GrowingArray(one.steps),
        GrowingArray(one.wall_times),
        GrowingArray(one.orphaned),
        [GrowingArray(series[tag].values) for tag in tags],
    )


def _is_plain(table: Searched) -> bool:
    """Whether the steps are those of one column, or the numbers of the rows, and never fall."""
    axis = table.axis
    names = [name for name in table.columns if name not in (TIME, UTC)]
    lengths = {name: len(table.columns[name].rows) for name in names}
    candidates = step_candidates(lengths, table.row_count)
    if (np.diff(axis.steps) < 0).any() or (axis.note and axis.kind != "row"):
        return False
    if axis.kind == "step":
        return candidates[:1] == [axis.columns[0]] and _is_whole(table.columns[axis.columns[0]].values, _MAX_STEP)
    if axis.kind == "epoch":
        is_best = epoch_columns(names)[:1] == [axis.columns[0]] and not candidates
        return is_best and axis.steps_per_epoch == 1 and _is_whole(table.columns[axis.columns[0]].values, _MAX_EPOCH)
    return axis.kind == "row" and not axis.columns and not any(map(is_counter, names)) and not step_columns(names)


def _is_whole(values: NDArray[np.float64], limit: float) -> bool:
    return bool((np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < limit)).all())
