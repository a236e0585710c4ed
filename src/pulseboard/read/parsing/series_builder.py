"""Builds series from what a reader parses: point by point, or row by row."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.core.axes import Step, Tag, WallTime
from pulseboard.core.series import Series
from pulseboard.read.parsing.numbers import time_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STEP_NAMES = (
    "step", "global_step", "trainer/global_step", "train/global_step", "_step", "iteration", "iter", "iter_num",
    "total_steps", "timesteps", "total_timesteps", "num_updates", "update", "epoch", "epochs",
)  # fmt: skip
"""Names of columns that hold steps, in lower case. The first of them that a table has is used."""

TIME_NAMES = ("_timestamp", "wall_time", "wall time", "timestamp", "time", "datetime", "date", "created_at")
"""Names of columns that may hold wall times, in lower case. The first of them that does is used."""

# 16 and 158 years after 1970; durations and counters are hardly ever this large.
_MIN_WALL_TIME, _MAX_WALL_TIME = 5e8, 5e9


class SeriesBuilder:
    """Collects points one by one, by tag."""

    def __init__(self) -> None:
        self._columns: dict[Tag, tuple[array[int], array[float], array[float]]] = {}

    def add(self, tag: Tag, *, step: Step, value: float, wall_time: WallTime = math.nan) -> None:
        """Add one point."""
        columns = self._columns.get(tag)
        if columns is None:
            columns = self._columns[tag] = (array("q"), array("d"), array("d"))
        columns[0].append(step)
        columns[1].append(wall_time)
        columns[2].append(value)

    def series(self) -> dict[Tag, Series]:
        """The series by tag, in order of appearance."""
        import numpy as np

        return {
            tag: _series(tag, np.array(steps, np.int64), np.array(wall_times), np.array(values))
            for tag, (steps, wall_times, values) in self._columns.items()
        }


class Rows:
    """Collects the rows of a table. Each row has some of the columns; one column holds the steps."""

    def __init__(self) -> None:
        self.count = 0
        self._columns: dict[str, tuple[array[int], array[float]]] = {}  # name -> row indices, numbers
        self._times: dict[str, tuple[array[int], array[float]]] = {}  # the same for dates and times in words

    def add(self, cells: Iterable[tuple[str, float | str]]) -> None:
        """Add a row: numbers by column, and texts, of which only dates and times are used."""
        for name, value in list(cells):  # all of them, or none if reading them fails
            if not isinstance(value, str):
                self._append(self._columns, name, value)
            elif name.lower() in TIME_NAMES and (wall_time := time_of(value)) is not None:
                self._append(self._times, name, wall_time)
        self.count += 1

    def names(self) -> set[str]:
        """The columns that hold numbers."""
        return set(self._columns)

    def _append(self, columns: dict[str, tuple[array[int], array[float]]], name: str, value: float) -> None:
        column = columns.get(name)
        if column is None:
            column = columns[name] = (array("q"), array("d"))
        column[0].append(self.count)
        column[1].append(value)

    def series(self, *, step_names: Sequence[str] = STEP_NAMES) -> dict[Tag, Series]:
        """A series for every column, except those of steps and times. `step_names` are the columns to take steps from.

        A row without a step gets the step of the row before it. If no column holds steps, rows are numbered
        from 0.
        """
        import numpy as np

        step_name, steps = self._steps(step_names)
        time_name, wall_times = self._wall_times()
        out: dict[Tag, Series] = {}
        for name, (rows, values) in self._columns.items():
            if name not in (step_name, time_name):
                at = np.array(rows, np.int64)
                out[name] = _series(name, steps[at], wall_times[at], np.array(values))
        return out

    def _steps(self, step_names: Sequence[str]) -> tuple[str | None, NDArray[np.int64]]:
        """The column that holds the steps, and the step of each row."""
        import numpy as np

        for name in self._columns_named(step_names):
            rows, values = self._columns[name]
            steps = np.array(values)
            valid = np.isfinite(steps) & (np.abs(steps) < 2.0**63) & (steps == np.floor(steps))
            # A torn row may spoil a few steps, but a column of fractions, such as epoch 0.64, does not hold steps.
            if 2 * valid.sum() > self.count and valid.sum() > 0.9 * len(valid):
                at = np.array(rows, np.int64)[valid]
                by_row = np.zeros(self.count, np.int64)
                last_valid_row = np.zeros(self.count, np.int64)
                by_row[at] = steps[valid].astype(np.int64)
                last_valid_row[at] = at
                return name, by_row[np.maximum.accumulate(last_valid_row)]
        return None, np.arange(self.count)

    def _wall_times(self) -> tuple[str | None, NDArray[np.float64]]:
        """The column of numbers that holds the wall times, if there is one, and the wall time of each row."""
        import numpy as np

        wall_times = np.full(self.count, np.nan)
        for name in self._columns_named(TIME_NAMES):
            rows, values = self._columns[name]
            secs = np.array(values)
            if np.median(secs) > 1e3 * _MIN_WALL_TIME:  # milliseconds
                secs = secs / 1e3
            if ((secs > _MIN_WALL_TIME) & (secs < _MAX_WALL_TIME)).all():
                wall_times[np.array(rows, np.int64)] = secs
                return name, wall_times
        for rows, values in self._times.values():
            wall_times[np.array(rows, np.int64)] = np.array(values)
            return None, wall_times
        return None, wall_times

    def _columns_named(self, names: Iterable[str]) -> list[str]:
        by_lower_case = {name.lower().strip(): name for name in self._columns}
        return [by_lower_case[name.lower()] for name in names if name.lower() in by_lower_case]


def _series(tag: Tag, steps: Any, wall_times: Any, values: Any) -> Series:
    """A series without orphaned points: only event files mark restarts."""
    import numpy as np

    orphaned = np.zeros(len(steps), np.bool_)
    return Series(tag=tag, steps=steps, wall_times=wall_times, values=values, orphaned=orphaned)
