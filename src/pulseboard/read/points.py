"""Points of other formats on their way to series: one by one with their steps, or as rows of named numbers."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pulseboard.core.series import Series

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MISSING = frozenset({"", "na", "n/a", "none", "null", "-", "nil"})
"""Words for a value that was not logged, in lower case. 'nan' is none of them: it is a value."""

STEP_NAMES = (
    "step", "global_step", "trainer/global_step", "train/global_step", "_step", "iteration", "iter", "iter_num",
    "total_steps", "timesteps", "total_timesteps", "num_updates", "update", "epoch", "epochs",
)  # fmt: skip
"""Columns that say where in the training a row stands, in lower case; the first that a history has counts."""

TIME_NAMES = ("_timestamp", "wall_time", "wall time", "timestamp", "time", "datetime", "date", "created_at")
"""Columns that may say when a row was logged, in lower case; the first that holds times counts."""

_SPELLED = {"nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "-nan", "+nan"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"([+-]?[0-9]+),([0-9]+(?:[eE][+-]?[0-9]+)?)")
# 1970 + 16 to 1970 + 158 years; a duration or a counter is hardly ever as large.
_EARLIEST_SECS, _LATEST_SECS = 5e8, 5e9


def number(text: str, *, decimal_comma: bool = False) -> float | None:
    """A number as people and programs spell it; None for what is none."""
    text = text.strip()
    if _NUMBER.fullmatch(text) or text.lower() in _SPELLED:
        return float(text)
    if decimal_comma and (found := _DECIMAL_COMMA.fullmatch(text)):
        return float(f"{found[1]}.{found[2]}")
    return None


def plain_number(value: Any) -> float | None:
    """A number of a JSON document, be it spelled 'nan'; None for what is none, True and False included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        return float(value) if value.strip().lower() in _SPELLED else None
    try:
        return float(value)
    except OverflowError:  # a whole number beyond what a float holds
        return math.inf if value > 0 else -math.inf


def step_of(value: float | None) -> int | None:
    """A whole number that fits a step; None for fractions, NaN and what is too large."""
    if value is None or not math.isfinite(value) or value != math.floor(value) or abs(value) >= 2.0**63:
        return None
    return int(value)


def time_of(text: str) -> float | None:
    """Seconds since 1970 of a date and time in words, local where it names no zone; None for what is none."""
    try:
        return datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace(",", ".")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


class Points:
    """Scalars as they come, each with its step; `series` makes columns of them."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[array[int], array[float], array[float]]] = {}

    def add(self, tag: str, *, step: int, value: float, wall_time: float = math.nan) -> None:
        """One point. Its wall time is NaN where the log does not say it."""
        columns = self._columns.get(tag)
        if columns is None:
            columns = self._columns[tag] = (array("q"), array("d"), array("d"))
        columns[0].append(step)
        columns[1].append(wall_time)
        columns[2].append(value)

    def series(self) -> dict[str, Series]:
        """By tag, in order of appearance."""
        import numpy as np

        return {
            tag: made_series(tag, np.array(steps, np.int64), np.array(walls), np.array(values))
            for tag, (steps, walls, values) in self._columns.items()
        }


class Rows:
    """A history as a table: each row has some of the columns, and one column says at which step it was logged."""

    def __init__(self) -> None:
        self.count = 0
        self._columns: dict[str, tuple[array[int], array[float]]] = {}  # name -> rows, numbers
        self._times: dict[str, tuple[array[int], array[float]]] = {}  # times in words

    def add(self, cells: Iterable[tuple[str, float | str]]) -> None:
        """The next row: numbers by column, and texts, of which only those that are times count."""
        for name, value in cells:
            if not isinstance(value, str):
                self._append(self._columns, name, value)
            elif name.lower() in TIME_NAMES and (wall := time_of(value)) is not None:
                self._append(self._times, name, wall)
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

    def series(self, *, steps: Sequence[str] = STEP_NAMES) -> dict[str, Series]:
        """Every column but those of step and time. `steps` names the columns that may hold the steps, best first.

        A row without a step was logged at the step of the row before it. Where no column says the steps,
        rows are counted from 0.
        """
        import numpy as np

        step_name, by_row = self._steps(steps)
        time_name, walls = self._walls()
        out: dict[str, Series] = {}
        for name, (rows, values) in self._columns.items():
            if name not in (step_name, time_name):
                at = np.array(rows, np.int64)
                out[name] = made_series(name, by_row[at], walls[at], np.array(values))
        return out

    def _steps(self, wanted: Sequence[str]) -> tuple[str | None, NDArray[np.int64]]:
        import numpy as np

        for name in self._candidates(wanted):
            rows, values = self._columns[name]
            steps = np.array(values)
            sound = np.isfinite(steps) & (np.abs(steps) < 2.0**63) & (steps == np.floor(steps))
            # A torn or foreign row may spoil one step; a column of fractions, such as epoch 0.64, is none of steps.
            if 2 * sound.sum() > self.count and sound.sum() > 0.9 * len(sound):
                at = np.array(rows, np.int64)[sound]
                by_row = np.zeros(self.count, np.int64)
                found = np.zeros(self.count, np.int64)
                by_row[at] = steps[sound].astype(np.int64)
                found[at] = at
                return name, by_row[np.maximum.accumulate(found)]
        return None, np.arange(self.count)

    def _walls(self) -> tuple[str | None, NDArray[np.float64]]:
        import numpy as np

        walls = np.full(self.count, np.nan)
        for name in self._candidates(TIME_NAMES):
            rows, values = self._columns[name]
            secs = np.array(values)
            if np.median(secs) > 1e3 * _EARLIEST_SECS:
                secs = secs / 1e3
            if ((secs > _EARLIEST_SECS) & (secs < _LATEST_SECS)).all():
                walls[np.array(rows, np.int64)] = secs
                return name, walls
        for _, (rows, values) in self._times.items():
            walls[np.array(rows, np.int64)] = np.array(values)
            return None, walls
        return None, walls

    def _candidates(self, wanted: Iterable[str]) -> list[str]:
        lower = {name.lower().strip(): name for name in self._columns}
        return [lower[name.lower()] for name in wanted if name.lower() in lower]


def made_series(tag: str, steps: Any, wall_times: Any, values: Any) -> Series:
    """A series of which nothing is orphaned: other formats do not tell of restarts."""
    import numpy as np

    orphaned = np.zeros(len(steps), np.bool_)
    return Series(tag=tag, steps=steps, wall_times=wall_times, values=values, orphaned=orphaned)
