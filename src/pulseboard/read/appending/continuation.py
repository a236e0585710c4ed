"""The series of a table, and whether rows that were added continue them: no search of the rows before is needed then.

A table is searched for its steps, wall times and metrics as a whole, because a later row may change what an earlier one
means. Nearly all tables are the same throughout, and then the search has the same result with every row that is added.
`Continuation.of` says whether this is such a table, and `add` whether new rows are such rows. When in doubt, no.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.read.appending.added_steps import AddedSteps, Cells, added_steps
from pulseboard.read.appending.growing_array import GrowingArray
from pulseboard.read.axis.build import Column
from pulseboard.read.format import RunData
from pulseboard.read.parsing.line_table import TIME, UTC
from pulseboard.read.parsing.table_runs import MANY_ROWS, Searched, as_secs, from_local, several_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A table that has this many times the rows it had is searched again.
_MAX_GROWTH = 2
# Of a column with fewer numbers, another one may change what it is taken for.
_MIN_LENGTH = 3


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

    def __init__(
        self, table: Searched, run: RunData, steps: AddedSteps, rules: RowRules | None, notes: Sequence[Note]
    ) -> None:
        self._rules = rules
        self._notes = notes
        self._several = several_values(run.series)
        self._max_rows = _MAX_GROWTH * table.row_count
        self._axis = run.axis
        self._order = list(run.series)
        self._lengths = {name: len(one.rows) for name, one in table.columns.items() if name not in (TIME, UTC)}
        self._row_count = table.row_count
        self._steps = steps
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
        cls,
        raw: Mapping[str, int],
        table: Searched,
        runs: list[RunData],
        rules: RowRules | None,
        *,
        notes: Sequence[Note] = (),
    ) -> Continuation | None:
        """The series of a table, whose columns had the lengths `raw` before the search; None if it must be searched
        again with every row. `notes` are those of the search."""
        if len(runs) != 1 or table.row_count <= MANY_ROWS or runs[0].restarts or not runs[0].series:
            return None
        if any(name in raw and len(column.rows) != raw[name] for name, column in table.columns.items()):
            return None  # only some of its numbers were kept
        steps = added_steps(table)
        return None if steps is None else cls(table, runs[0], steps, rules, notes)

    def run(self, *, notes: list[Any], config: Mapping[str, Any]) -> RunData:
        """The run as it is now."""
        return self._data(notes, config, self._series())

    def run_with(self, last: Mapping[str, Column], *, notes: list[Any], config: Mapping[str, Any]) -> RunData | None:
        """The run as it would be with a further row; None if that row must be searched."""
        rows = self._rows_of(last)
        if rows is None or self._changes_notes(rows):
            return None
        return self._data(notes, config, self._series(rows), rows)

    def add(self, new: Mapping[str, Column]) -> bool:
        """Add rows. False if the table must be searched again, with another object."""
        rows = self._rows_of(new)
        if rows is None:
            return False
        if not len(rows.steps):
            return True
        if self._changes_notes(rows):
            return False
        self._row_count += len(rows.steps)
        self._steps = rows.after
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

    def _changes_notes(self, rows: _NewRows) -> bool:
        """Whether new rows have the first other value at a step, of which the search says so in a note."""
        if self._several is not None and any(group.steps.taken()[-1] > self._several[1] for group in self._groups):
            return False
        for group in self._groups:
            if group.tags[0] not in rows.columns:
                continue
            steps = np.concatenate([group.steps.taken()[-1:], rows.steps[rows.columns[group.tags[0]][0]]])
            again = steps[1:] == steps[:-1]
            for tag, values in zip(group.tags, group.values, strict=True) if again.any() else ():
                both = np.concatenate([values.taken()[-1:], rows.columns[tag][1]])
                if (both[1:] != both[:-1])[again].any():
                    return True
        return False

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
            return _NewRows({}, np.zeros(0, np.int64), np.zeros(0), self._steps)
        raw_rows = np.unique(np.concatenate([column.rows for column in kept.values()]))
        if self._rules is not None and not self._rules.accepts(kept, raw_rows):
            return None
        columns = {name: (np.searchsorted(raw_rows, one.rows), one.values) for name, one in kept.items()}
        count = len(raw_rows)
        lengths = {name: n + len(columns[name][0]) if name in columns else n for name, n in self._lengths.items()}
        wall_times = self._wall_times(new, columns, raw_rows)
        found = self._steps.of(columns, count, lengths, self._row_count)
        if found is None or wall_times is None or self._row_count + count > self._max_rows:
            return None
        for group in self._groups:
            at = columns.get(group.tags[0], (None,))[0]
            for tag in group.tags[1:]:
                other = columns.get(tag, (None,))[0]
                if at is not other and (at is None or other is None or not np.array_equal(at, other)):
                    return None
        return _NewRows(columns, found[0], wall_times, found[1])

    def _wall_times(
        self, new: Mapping[str, Column], columns: Mapping[str, Cells], raw_rows: NDArray[np.int64]
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
        return RunData(series, config=dict(config), notes=[*notes, *self._notes], axis=self._axis, span=span)


@dataclass(frozen=True, slots=True)
class _NewRows:
    """Rows that continue a table."""

    columns: dict[str, Cells]  # the places among the new rows, and the numbers
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    after: AddedSteps  # what gives the rows after them their steps

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
