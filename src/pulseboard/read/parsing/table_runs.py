"""From a table of numbers to runs: the axis, the wall times, and a series for every column that measures something."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pulseboard.core.axes import Tag
from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.core.series import Series
from pulseboard.read.axis.build import Axis, Column, build_axis
from pulseboard.read.axis.names import TOTAL, is_counter
from pulseboard.read.format import RunData
from pulseboard.read.parsing.line_table import TIME, UTC
from pulseboard.read.run import Restart

if TYPE_CHECKING:
    from numpy.typing import NDArray

TIME_NAMES = ("_timestamp", "wall_time", "wall time", "timestamp", "time", "datetime", "date", "created_at")
"""Names of columns that may hold wall times, in lower case. The first of them that does is used."""

# 16 and 158 years after 1970; durations and counters are hardly ever this large.
_MIN_WALL_TIME, _MAX_WALL_TIME = 5e8, 5e9
MANY_ROWS = 200
"""In a table of this many rows, a number that occurs once is a setting."""
_MAX_PARTS_NAMED = 5
_MAX_TAGS_NAMED = 3
# These differ from one line to the next even if nothing was trained in between.
_CLOCK = re.compile(r"time|elapsed|eta$|step_avg|per_sec|/s$|speed|mem(ory)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Searched:
    """A table in which the steps, the wall times and the metrics were found."""

    columns: Mapping[str, Column]
    row_count: int
    axis: Axis
    metrics: dict[str, Column]
    time_name: str | None  # the column of numbers that holds the wall times, if there is one
    wall_times: NDArray[np.float64]  # one per row


def runs_of_table(
    columns: Mapping[str, Column],
    row_count: int,
    *,
    path: str,
    notes: Collection[Note] = (),
    config: Mapping[str, Any] | None = None,
    axis: Axis | None = None,
    leave_out: Collection[str] = (),
    how: str = "",
) -> Iterator[RunData]:
    """The runs in a table: one, or one for every training that was appended to the same file.

    `axis` is given if the format defines its steps. `leave_out` names columns that are not metrics. `how` says how the
    table was read, for formats that are guessed.
    """
    table = searched(columns, row_count, axis=axis, leave_out=leave_out)
    yield from runs_in(table, path=path, notes=notes, config=config, how=how)


def searched(
    columns: Mapping[str, Column], row_count: int, *, axis: Axis | None = None, leave_out: Collection[str] = ()
) -> Searched:
    """The table with its steps, wall times and metrics. The arguments are those of `runs_of_table`."""
    numbers = {name: column for name, column in columns.items() if name not in (TIME, UTC)}
    axis = build_axis(numbers, row_count) if axis is None else axis
    time_name, wall_times = _wall_times(columns, row_count)
    skipped = {*_counts_of(axis), time_name, *leave_out}
    metrics = {
        name: column
        for name, column in numbers.items()
        if name not in skipped
        and not (name.endswith(TOTAL) and is_counter(name))
        and not (row_count > MANY_ROWS and len(column.rows) == 1)
    }
    return Searched(columns, row_count, axis, metrics, time_name, wall_times)


def runs_in(
    table: Searched,
    *,
    path: str,
    notes: Collection[Note] = (),
    config: Mapping[str, Any] | None = None,
    how: str = "",
) -> Iterator[RunData]:
    """The runs in a table that was searched. The arguments are those of `runs_of_table`."""
    axis, wall_times = table.axis, table.wall_times
    info = axis.info._replace(note=" ".join(filter(None, [how, axis.note])))
    restarts, part_count = axis.restarts, axis.restarts.part_count
    for part in range(part_count):
        chosen = None if part_count == 1 else restarts.parts == part
        series = dict(_series(table.metrics, axis, wall_times, chosen))
        resumed = [row for row in restarts.resumed_at if restarts.parts[row] == part]
        yield RunData(
            series,
            name="" if part == 0 else f"part {part + 1}",
            config=dict(config or {}),
            notes=[
                *(notes if part == 0 else ()),
                *_notes_on(part, part_count, len(resumed), path),
                *_notes_on_values(series, axis.kind, path),
            ],
            axis=info,
            restarts=[Restart(int(axis.steps[row]), float(wall_times[row])) for row in resumed],
        )


def _counts_of(axis: Axis) -> tuple[str, ...]:
    """The columns that hold nothing but the steps. An epoch with iterations in it is still a metric."""
    return axis.columns[1:] if axis.kind == "epoch x iteration" else axis.columns


def _series(
    metrics: Mapping[str, Column], axis: Axis, wall_times: NDArray[np.float64], chosen: NDArray[np.bool_] | None
) -> Iterator[tuple[Tag, Series]]:
    for name, column in metrics.items():
        rows, values = column.rows, column.values
        if chosen is None and len(rows) == len(axis.steps):  # a value in every row
            yield name, Series(name, axis.steps, wall_times, values, axis.restarts.orphaned)
            continue
        if chosen is not None:
            kept = chosen[rows]
            rows, values = rows[kept], values[kept]
        if len(rows):
            yield name, Series(name, axis.steps[rows], wall_times[rows], values, axis.restarts.orphaned[rows])


def _notes_on(part: int, part_count: int, resumed: int, path: str) -> Iterator[Note]:
    if part_count > 1 and part < _MAX_PARTS_NAMED:
        which = f"The file holds {part_count} trainings, one after the other: its steps begin again."
        yield Note("info", f"{which} This is number {part + 1}.", path)
    if resumed:
        what = f"The training was resumed from an earlier step {plural(resumed, 'time')}."
        yield Note("info", f"{what} Points that were logged again are marked as orphaned.", path)


def several_values(series: Mapping[Tag, Series]) -> tuple[Tag, int, float, float] | None:
    """The first tag and step with two values that differ, and these values; None if there are none."""
    repeats: dict[int, NDArray[np.int64]] = {}  # by the identity of steps, which series share
    first: tuple[Tag, int, float, float] | None = None
    for tag, one in series.items():
        if _CLOCK.search(tag):
            continue
        key = id(one.steps)
        if key not in repeats:
            repeats[key] = np.flatnonzero((one.steps[1:] == one.steps[:-1]) & ~(one.orphaned[1:] | one.orphaned[:-1]))
        at = repeats[key]
        value, other = one.values[at], one.values[at + 1]
        at = at[(value != other) & ~(np.isnan(value) & np.isnan(other))]
        if len(at) and (first is None or int(one.steps[at[0]]) < first[1]):
            first = tag, int(one.steps[at[0]]), float(one.values[at[0]]), float(one.values[at[0] + 1])
    return first


def _notes_on_values(series: Mapping[Tag, Series], kind: str, path: str) -> Iterator[Note]:
    """What a log tells several times, with different values. All of them are kept."""
    if found := several_values(series):
        tag, step, value, other = found
        at = f"{'epoch' if kind == 'epoch' else 'step'} {step}"
        what = f"There are several values of a metric at one step, such as {value:g} and {other:g} of {tag!r} at {at}."
        advice = "All are kept. If they measure different things, log them under different names."
        yield Note("info", f"{what} {advice}", path)
    twice = [tag for tag in series if tag.endswith("'") and tag.rstrip("'") in series]
    if twice:
        names = ", ".join(map(repr, twice[:_MAX_TAGS_NAMED]))
        yield Note("info", f"A row has several values of the same name. The later ones are kept as {names}.", path)


# ---- wall times


def _wall_times(columns: Mapping[str, Column], row_count: int) -> tuple[str | None, NDArray[np.float64]]:
    """The column that holds the wall times, if there is one, and the wall time of each row."""
    wall_times = np.full(row_count, np.nan)
    by_lower_case = {name.lower().strip(): name for name in columns}
    for name in (by_lower_case[name] for name in TIME_NAMES if name in by_lower_case):
        column = columns[name]
        if not len(column.values) or not column.values[0] > _MIN_WALL_TIME:
            continue
        secs = as_secs(column.values, like=float(np.median(column.values)))
        if secs is not None:
            wall_times[column.rows] = secs
            return name, wall_times
    if TIME in columns:
        wall_times[columns[TIME].rows] = from_local(columns[TIME].values)
    if UTC in columns:
        wall_times[columns[UTC].rows] = columns[UTC].values
    return None, wall_times


def as_secs(values: NDArray[np.float64], *, like: float) -> NDArray[np.float64] | None:
    """Wall times from numbers, which are milliseconds if one `like` them is; None if they are something else."""
    secs = values / 1e3 if like > 1e3 * _MIN_WALL_TIME else values
    return secs if ((secs > _MIN_WALL_TIME) & (secs < _MAX_WALL_TIME)).all() else None


def from_local(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Wall times from dates in local time that were read as if they were UTC."""
    hours, place = np.unique(np.floor(values / 3600), return_inverse=True)
    offsets = np.array([_offset(int(hour)) for hour in hours.tolist()], np.float64)
    shifted: NDArray[np.float64] = values - offsets[place]
    return shifted


@functools.lru_cache(maxsize=4096)
def _offset(hour: int) -> float:
    """Local time minus UTC at a local hour, in seconds."""
    local = time.gmtime(hour * 3600)
    try:
        return hour * 3600 - time.mktime((*local[:6], local[6], local[7], -1))
    except (OverflowError, ValueError):
        return 0.0
