"""Rows within epochs: a log that prints its loss several times per epoch, and of all counts only the epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.read.axis.names import is_counter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pulseboard.read.axis.build import Column

    Ints = NDArray[np.int64]

# Two values of one metric per epoch may be those of two splits.
_MIN_ROWS = 3
# At least this share of the epochs has the usual number of rows, but for one more or less.
_MIN_USUAL_FRAC = 0.7
_MAX_OF_USUAL = 1.5
# Of the values within an epoch, at most this share repeats the one before: that is one value, printed by several ranks.
_MAX_REPEATED_FRAC = 0.5


@dataclass(frozen=True, slots=True)
class RowsOfEpochs:
    """Where each row of a table is within its epoch."""

    rows: Ints  # from 0, one per row of the table
    per_epoch: int


def rows_of_epochs(epochs: Ints, columns: Mapping[str, Column], *, counts: Sequence[str]) -> RowsOfEpochs | None:
    """The place of each row in its epoch, counted by the metric with most values; None if it has not several per epoch.

    `epochs` has one number per row of the table, `counts` are the columns that it comes from.
    """
    metrics = [column for name, column in columns.items() if name not in counts and not is_counter(name)]
    main = max(metrics, key=lambda column: len(column.rows), default=None)
    if main is None:
        return None
    begins = np.append(True, np.diff(epochs) != 0)
    blocks = np.cumsum(begins) - 1
    per_block = np.bincount(blocks[main.rows], minlength=int(blocks[-1]) + 1)
    whole = per_block[:-1]  # the last epoch may have more to come
    if len(whole) < 2:
        return None
    usual = int(np.median(whole))
    is_usual = np.abs(whole - usual) <= 1
    if usual < _MIN_ROWS or is_usual.mean() < _MIN_USUAL_FRAC or _repeats(main, blocks):
        return None
    per_epoch = int(per_block[per_block < _MAX_OF_USUAL * usual].max())
    has_value = np.zeros(len(epochs), np.int64)
    has_value[main.rows] = 1
    seen = np.cumsum(has_value)
    before = (seen - has_value)[begins][blocks]
    return RowsOfEpochs((seen - before - 1).clip(0, per_epoch - 1), per_epoch)


def _repeats(column: Column, blocks: Ints) -> bool:
    within = np.diff(blocks[column.rows]) == 0
    return bool((np.diff(column.values)[within] == 0).mean() > _MAX_REPEATED_FRAC)
