"""Numbers and nothing else: one per line, or a few in columns without a header, in a file that says what they are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import numpy as np

from pulseboard.core.note import Note
from pulseboard.kernel import lines as kernel
from pulseboard.read.axis.build import Column, build_axis
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.parsing.growing import following
from pulseboard.read.parsing.line_file import LineFile
from pulseboard.read.parsing.line_table import LinePlan, LineTable, Token
from pulseboard.read.parsing.numbers import number
from pulseboard.read.parsing.table_runs import runs_of_table
from pulseboard.read.parsing.text_table import METRIC_NAME

_SEPARATORS = re.compile(r"[\s,;]+")
_MIN_LINES = 5
_MAX_COLUMNS = 16


def _is_numbers(candidate: Candidate) -> bool:
    """Whether the file is named after a metric, and every line holds the same count of numbers."""
    lines = [line.strip() for line in candidate.lines[:200] if line.strip() and not line.startswith("#")]
    if len(lines) < _MIN_LINES or not (candidate.given or METRIC_NAME.search(os.path.basename(candidate.path))):
        return False
    cells = [[cell for cell in _SEPARATORS.split(line) if cell] for line in lines]
    widths = {len(row) for row in cells}
    return (
        len(widths) == 1
        and widths.pop() <= _MAX_COLUMNS
        and all(number(cell) is not None for row in cells for cell in row)
    )


class NumberFile:
    """The numbers in a file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._table, self._file = LineTable(_by_place), LineFile(path)
        self.read_on()

    def read_on(self) -> bool:
        """Read the lines that were added since. False if the file must be read from the start, in another object."""
        return self._file.feed(self._table)

    def runs(self) -> Iterator[RunData]:
        """The runs in it."""
        notes = []
        if self._file.has_unfinished_line:
            notes.append(Note("info", "The last line has no line break and was left out.", self.path))
        rows = self._table.rows()
        found, row_count = rows.columns(), rows.row_count
        stem = os.path.splitext(os.path.basename(self.path))[0]
        columns: dict[str, Column] = {}
        names = sorted(found, key=int)
        if len(names) > 1 and _rises(found[names[0]]):
            columns["step"] = found[names.pop(0)]
        for name in names:
            columns[stem if len(names) == 1 else f"{stem}/{name}"] = found[name]
        axis = build_axis({name: column for name, column in columns.items() if name == "step"}, row_count)
        how = "The file holds numbers without names; they are named after the file."
        yield from runs_of_table(columns, row_count, path=self.path, notes=notes, axis=axis, how=how)


def _by_place(line: str, tokens: list[Token]) -> LinePlan | None:
    if line.startswith("#") or len(tokens) > _MAX_COLUMNS or any(token.kind != kernel.NUMBER for token in tokens):
        return None
    return LinePlan(tuple((place, str(place + 1), 1.0) for place in range(len(tokens))))


def _rises(column: Column) -> bool:
    values = column.values
    return bool((values == np.floor(values)).all() and (np.diff(values) > 0).mean() > 0.9) if len(values) > 1 else False


@reader(
    id="numbers",
    files=("*.txt", "*.log", "*.dat", "*.out", "*.csv"),
    recognizes=_is_numbers,
    follow=following(NumberFile, NumberFile.runs),
)
def read_numbers(path: str) -> Iterator[RunData]:
    """One series per column. A first column of whole numbers that rise is the step."""
    yield from NumberFile(path).runs()
