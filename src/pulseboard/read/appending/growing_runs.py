"""The runs of a table that is fed as its file grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pulseboard.core.note import Note
from pulseboard.read.appending.continuation import Continuation, RowRules
from pulseboard.read.axis.build import Column
from pulseboard.read.format import RunData
from pulseboard.read.parsing.line_table import Rows
from pulseboard.read.parsing.table_runs import MANY_ROWS, Searched, runs_in, searched


@dataclass(frozen=True, slots=True)
class Found:
    """What a format found in the columns of a table."""

    table: Searched
    rules: Callable[[], RowRules | None] | None = None
    """What new rows must be like so that the search need not be repeated; None if it must be. None: like any row."""


Search = Callable[[Mapping[str, Column], int], Found]


class GrowingRuns:
    """Turns a table into runs. While its new rows are like those before, they are added to the series it had."""

    def __init__(
        self, path: str, *, search: Search = lambda columns, count: Found(searched(columns, count)), how: str = ""
    ) -> None:
        self._path = path
        self._search = search
        self._how = how
        self._before: Continuation | None = None
        self.searches = 0
        """How often all rows were searched."""

    def update(self, rows: Rows, *, notes: list[Note], config: Mapping[str, Any] | None = None) -> list[RunData]:
        """The runs in a table that has grown since the last call."""
        config = config or {}
        if self._before is not None and not self._before.add(rows.new_columns()):
            self._before = None
        if self._before is None and rows.finished_count > MANY_ROWS:
            runs = self._searched(rows.columns(finished=True), rows.finished_count, notes, config)
            if not rows.last:
                return runs
        if self._before is not None:
            if not rows.last:
                return [self._before.run(notes=notes, config=config)]
            if (run := self._before.run_with(rows.last, notes=notes, config=config)) is not None:
                return [run]
        self.searches += 1
        found = self._search(rows.columns(), rows.row_count)
        return list(runs_in(found.table, path=self._path, notes=notes, config=config, how=self._how))

    def _searched(
        self, columns: Mapping[str, Column], row_count: int, notes: list[Note], config: Mapping[str, Any]
    ) -> list[RunData]:
        """Search the finished rows, and keep what was found if new rows may continue it."""
        self.searches += 1
        found = self._search(columns, row_count)
        runs = list(runs_in(found.table, path=self._path, notes=notes, config=config, how=self._how))
        lengths = {name: len(column.rows) for name, column in columns.items()}
        rules = None if found.rules is None else found.rules()
        if found.rules is None or rules is not None:
            found_notes = runs[0].notes[len(notes) :]
            self._before = Continuation.of(lengths, found.table, runs, rules, notes=found_notes)
        return runs
