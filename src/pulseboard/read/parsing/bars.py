"""Progress bars: of the rows that one bar prints, those that count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.read.axis.build import Column
from pulseboard.read.axis.names import TOTAL, is_counter
from pulseboard.read.parsing.key_values import BAR, BARE, PROGRESS

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Of the rows that take their step from a bar, this share comes with a bar of its own.
_MIN_OWN_BAR_FRAC = 0.5


def with_steps_of_bars(columns: Mapping[str, Column], row_count: int) -> tuple[dict[str, Column], int]:
    """The columns and the number of rows without bars that have no metrics.

    Rows with a fraction of an epoch and nothing else that counts, as the Hugging Face Trainer prints them, get the step
    of the bar before them: epochs are rounded, and a thousand steps may be within 1.0.
    """
    out = {name: column for name, column in columns.items() if name.removesuffix(TOTAL) != BARE}
    if BARE not in columns:
        return out, row_count
    counters = {name for name, column in out.items() if is_counter(name) and len(column.rows) > 1}
    if counters == {"epoch"} and (steps := _steps_of_bars(columns, out["epoch"])) is not None:
        out["step"] = steps
    used = np.zeros(row_count, np.bool_)
    for column in out.values():
        used[column.rows] = True
    place = np.cumsum(used) - 1
    return {name: Column(place[column.rows], column.values) for name, column in out.items()}, int(used.sum())


def _steps_of_bars(columns: Mapping[str, Column], epoch: Column) -> Column | None:
    """The count of the training's bar before each row; None if the bars do not count these rows."""
    bars, totals = columns[BARE], columns.get(BARE + TOTAL)
    if totals is None or len(totals.rows) != len(bars.rows) or (epoch.values == np.floor(epoch.values)).all():
        return None
    found, frequency = np.unique(totals.values, return_counts=True)
    main = totals.values == found[frequency.argmax()]
    rows, counts = bars.rows[main], bars.values[main]
    at = np.searchsorted(rows, epoch.rows) - 1
    known = at >= 0
    steps = counts[at[known]]
    own = len(np.unique(at[known])) >= _MIN_OWN_BAR_FRAC * len(epoch.rows)
    if not own or not len(steps) or (np.diff(steps) < 0).any():
        return None
    return Column(epoch.rows[known], steps)


def without_bars(columns: Mapping[str, Column], row_count: int) -> dict[str, Column]:
    """The columns without unfinished averages and without drawings that another of the same step replaced."""
    kept = np.ones(row_count, np.bool_)
    if PROGRESS in columns and PROGRESS + TOTAL in columns:
        kept[columns[PROGRESS].rows] = _is_finished(columns[PROGRESS], columns[PROGRESS + TOTAL])
        kept[columns[PROGRESS].rows[:-1]] &= ~_is_drawn_again(columns)
    if BAR in columns:
        kept[columns[BAR].rows[:-1]] &= ~_is_replaced(columns, row_count)
    chosen = {name: _chosen(column, kept) for name, column in columns.items() if not _is_bar(name)}
    return {name: column for name, column in chosen.items() if len(column.rows)}


def _is_bar(name: str) -> bool:
    return name.removesuffix(TOTAL) in (PROGRESS, BAR)


def _is_finished(count: Column, total: Column) -> NDArray[np.bool_]:
    """Whether a row is the last of its bar, and the bar came to its end: 98/98, 97/98, or 90/98 with ten per row."""
    totals = np.full(len(count.rows), np.inf)
    found = np.isin(count.rows, total.rows)
    totals[found] = total.values[np.searchsorted(total.rows, count.rows[found])]
    rises = np.diff(count.values)
    ends = np.append(rises <= 0, True)
    bars = np.append(0, np.cumsum(ends[:-1]))
    strides = np.ones(bars[-1] + 1) * np.inf
    np.minimum.at(strides, bars[:-1], np.where(rises > 0, rises, np.inf))
    strides[~np.isfinite(strides)] = 1
    is_finished: NDArray[np.bool_] = ends & (count.values + strides[bars] >= totals)
    return is_finished


def _is_drawn_again(columns: Mapping[str, Column]) -> NDArray[np.bool_]:
    """Whether a bar, except the last, has the count of the next one in the same epoch.

    Keras draws the last bar of an epoch again with the results of the validation.
    """
    bars, epoch = columns[PROGRESS], columns.get("epoch")
    if epoch is None or len(epoch.rows) < 2:
        return np.zeros(len(bars.rows) - 1, np.bool_)
    epochs = np.append(np.nan, epoch.values)[np.searchsorted(epoch.rows, bars.rows)]
    is_drawn_again: NDArray[np.bool_] = (np.diff(bars.values) == 0) & (np.diff(epochs) == 0)
    for name, column in columns.items():
        if not is_counter(name.removesuffix(TOTAL)):
            has = np.isin(bars.rows, column.rows)
            is_drawn_again &= has[1:] | ~has[:-1]
    return is_drawn_again


def _is_replaced(columns: Mapping[str, Column], row_count: int) -> NDArray[np.bool_]:
    """Whether a bar, except the last, was printed again before its count continued.

    A bar is printed when its numbers are set, and again when it is moved: 1/20 loss=2.0, 1/20 loss=1.9, 2/20 loss=1.9.
    """
    bars = columns[BAR]
    totals, epochs = (_by_row(columns.get(name), row_count)[bars.rows] for name in ("iter" + TOTAL, "epoch"))
    # Of bars that were printed only when finished, each is that of another epoch.
    is_last = (bars.values >= totals)[:-1] & (epochs[:-1] != epochs[1:])
    replaced: NDArray[np.bool_] = (bars.values[1:] == bars.values[:-1]) & ~is_last
    return replaced


def _by_row(column: Column | None, row_count: int) -> NDArray[np.float64]:
    """A value for every row, NaN where there is none."""
    values = np.full(row_count, np.nan)
    if column is not None:
        values[column.rows] = column.values
    return values


def _chosen(column: Column, kept: NDArray[np.bool_]) -> Column:
    mask = kept[column.rows]
    return column if mask.all() else Column(column.rows[mask], column.values[mask])
