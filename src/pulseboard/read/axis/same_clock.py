"""Counters with different names that are one: `iter 95: loss 3.4`, then `step 100: train loss 3.46, val loss 3.5`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.read.axis.names import whole_run_columns

if TYPE_CHECKING:
    from pulseboard.read.axis.build import Column

# Of the numbers of the second counter, this share must fit between those of the first on the lines around.
_MIN_FITTING_FRAC = 0.9


def columns_of_clock(name: str, columns: Mapping[str, Column], row_count: int) -> tuple[str, ...]:
    """The counter and those that count the same steps on lines of their own."""
    main = columns[name]
    others = [other for other in whole_run_columns(list(columns)) if other != name]
    others = [other for other in others if len(columns[other].rows) + len(main.rows) <= row_count]
    return (name, *(other for other in others if _continues(columns[other], main)))


def _continues(other: Column, main: Column) -> bool:
    """Whether a counter is on other lines than the main one, and its numbers are between those around it."""
    if len(other.rows) < 2 or not len(main.rows) or other.values.min() == other.values.max():
        return False
    after = np.searchsorted(main.rows, other.rows)
    known = after < len(main.rows)
    if (main.rows[after[known]] == other.rows[known]).any():
        return False
    low = np.where(after > 0, main.values[(after - 1).clip(min=0)], -np.inf)
    high = np.where(known, main.values[after.clip(max=len(main.rows) - 1)], np.inf)
    fits = (low <= other.values) & (other.values <= high) & (other.values == np.floor(other.values))
    return bool(fits.mean() >= _MIN_FITTING_FRAC)
