"""Whether rows of a text log are such that the search for metrics would keep them as it kept those before.

`parsing/text_table.py` decides by shares of rows, by what is on the lines of the counts, and by what repeats. Where
every number that it kept is on a line with a count and a metric, further lines of this kind only confirm it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.read.axis.build import Column
from pulseboard.read.axis.names import TOTAL, is_counter
from pulseboard.read.parsing.key_values import BAR, BARE, PROGRESS
from pulseboard.read.parsing.line_table import TIME, UTC
from pulseboard.read.parsing.table_runs import Searched
from pulseboard.read.parsing.text_table import BEST, IN_LINE_FRAC, METRIC_NAME, MIN_ROWS_OF_SETTING, is_constant, marked

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TextRules:
    """What rows of a log are like in which every number is on the line of a count and of a metric."""

    counters: frozenset[str]
    metrics: frozenset[str]
    """One of these is on every line: the metrics of known names, if there are any."""
    ignored: Mapping[str, float]

    @classmethod
    def of(cls, columns: Mapping[str, Column], row_count: int, table: Searched) -> TextRules | None:
        """The rules for a log with these columns, which were searched; None if it is not such a log."""
        if {PROGRESS, BAR, BARE} & columns.keys():
            return None
        counters = {name: one for name, one in columns.items() if is_counter(name) and not name.endswith(TOTAL)}
        metrics = {name: one for name, one in columns.items() if not is_counter(name) and name not in (TIME, UTC)}
        named = {name: one for name, one in metrics.items() if METRIC_NAME.search(name)} or metrics
        kept = table.columns.keys() & columns.keys()
        often = {name: one for name, one in counters.items() if name in kept and len(one.rows) > 1}
        if max((len(column.rows) for column in often.values()), default=0) < MIN_ROWS_OF_SETTING:
            return None
        measured, counted = marked(named, row_count), marked(counters, row_count)
        if (measured & counted).sum() < IN_LINE_FRAC * measured.sum():
            return None
        counted = marked(often, row_count)
        if any(
            not (measured if is_counter(name) else counted)[columns[name].rows].all() for name in kept - {TIME, UTC}
        ):
            return None
        ignored = {
            name: float(column.values[0])
            for name, column in metrics.items()
            if name not in kept and is_constant(name, column)
        }
        return cls(frozenset(often), frozenset(named) & kept, ignored)

    def accepts(self, columns: Mapping[str, Column], rows: NDArray[np.int64]) -> bool:
        """Whether each of the rows has a count and a metric, and all their numbers would be kept."""
        if any(BEST.match(name) and not np.isfinite(column.values).all() for name, column in columns.items()):
            return False
        return all(self._are_in(names, columns, rows) for names in (self.counters, self.metrics))

    @staticmethod
    def _are_in(names: frozenset[str], columns: Mapping[str, Column], rows: NDArray[np.int64]) -> bool:
        found = [column.rows for name, column in columns.items() if name in names]
        return bool(found) and len(np.unique(np.concatenate(found))) == len(rows)
