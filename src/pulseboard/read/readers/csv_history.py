"""Histories as CSV: a header, then a row a step. Keras' CSVLogger, W&B's exports, and what people write themselves."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.read.points import MISSING, STEP_NAMES, Rows, number
from pulseboard.read.reader import History, Opening, reader
from pulseboard.read.text import lines_of

_ACCURACY = r"acc(?:uracy)?(?![a-z])"
METRIC_NAME = re.compile(
    rf"loss|{_ACCURACY}|error|reward|return|perplexity|ppl|bpb|mse|mae|auc|f1|score", re.IGNORECASE
)
"""Names of what a training measures."""
# Data sets have columns of errors and scores too; these they mostly have not.
_TELLING_NAME = re.compile(rf"loss|{_ACCURACY}|perplexity|train_|val_", re.IGNORECASE)

_DELIMITERS = ",;\t|"


def header_of(lines: list[str]) -> list[str]:
    """The column names in a file's first lines; none where they are no header."""
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    try:
        names = next(csv.reader([first], delimiter=delimiter_of(first)), [])
    except csv.Error:
        return []
    names = [name.strip() for name in names]
    if not any(names) or any(number(name) is not None for name in names):
        return []
    return names


def delimiter_of(header: str) -> str:
    """What stands between the names of a header."""
    return max(_DELIMITERS, key=header.count)


def _is_history(opening: Opening) -> bool:
    names = header_of(opening.lines[:100])
    lower = {name.lower() for name in names}
    if opening.named:
        rows = [line for line in opening.lines[1:100] if line.strip() and not line.startswith("#")]
        # A file that has only its header was just begun.
        return bool(names) and (2 * sum(map(_has_numbers, rows)) > len(rows) if rows else len(names) > 1)
    return (len(names) > 1 and not lower.isdisjoint(STEP_NAMES)) or any(map(_TELLING_NAME.search, names))


def _has_numbers(line: str) -> bool:
    return any(number(cell, decimal_comma=True) is not None for cell in line.split(delimiter_of(line)))


@reader(id="csv", files=("*.csv", "*.tsv"), sees=_is_history, generic=True)
def read_csv(path: str) -> Iterator[History]:
    """One run: every column of numbers but those of step and time."""
    rows, notes = rows_of(path)
    yield History(rows.series(), notes=notes)


def rows_of(path: str) -> tuple[Rows, list[Note]]:
    """The table in a CSV file, and what had to be left out of it."""
    table = _Table(path)
    cells = csv.reader(table.texts(), delimiter=table.delimiter, skipinitialspace=True)
    while True:
        try:
            table.add(next(cells), line=table.line)
        except StopIteration:
            return table.rows, table.notes()
        except csv.Error:  # a cell beyond 128 kB, mostly a quote that nobody closed
            table.left_out_rows += 1


class _Table:
    def __init__(self, path: str) -> None:
        self.path = path
        self.rows = Rows()
        self.line = 0
        self.left_out_rows = 0
        self._names: list[str] = []
        self._lines = lines_of(path)
        self._first = next((line for line in self._lines if line.text.strip() and not line.text.startswith("#")), None)
        self.delimiter = delimiter_of(self._first.text) if self._first else ","
        self._torn = False
        self._ragged = 0
        self._texts: dict[str, tuple[int, int, str]] = {}  # cells that are no numbers: how many, first line, the first

    def texts(self) -> Iterator[str]:
        """Lines for the CSV parser, with their line breaks, which a quoted cell may span."""
        if self._first is not None:
            self.line = self._first.number
            yield self._first.text + "\n"
        for line in self._lines:
            self.line = line.number
            if line.too_long:
                self.left_out_rows += 1
            elif line.whole:
                yield line.text + "\n"
            elif line.text:
                self._torn = True
                yield line.text

    def add(self, cells: list[str], *, line: int) -> None:
        """One row; the first is the header. A header in the middle, of a file written twice, is left out."""
        if not cells or (len(cells) == 1 and not cells[0].strip()) or cells[0].startswith("#"):
            return
        if not self._names:
            self._names = _distinct([cell.strip() for cell in cells])
            self._torn = False
            return
        if [cell.strip() for cell in cells] == self._names:
            return
        if self._torn:
            # What the last cell of an unfinished line says may be the first digits of a number.
            cells = cells[:-1]
        self._ragged += len(cells) > len(self._names)
        row: list[tuple[str, float | str]] = []
        for name, cell in zip(self._names, cells, strict=False):
            if cell.strip().lower() in MISSING:
                continue
            value = number(cell, decimal_comma=self.delimiter != ",")
            if value is None:
                times, first, text = self._texts.get(name, (0, line, cell))
                self._texts[name] = (times + 1, first, text)
            row.append((name, cell if value is None else value))
        if row:
            self.rows.add(row)

    def notes(self) -> list[Note]:
        out = []
        if self.left_out_rows:
            out.append(Note("damage", f"Left out {self.left_out_rows} lines that are too long for a row.", self.path))
        if self._ragged:
            what = f"{self._ragged} rows have more cells than the header has names; the cells behind were left out."
            out.append(Note("damage", what, self.path))
        numeric = self.rows.names()
        for name, (times, line, text) in self._texts.items():
            if name in numeric:  # a column of nothing but texts is no damage
                what = f"Left out {times} cells of column {name!r} that are no numbers"
                out.append(Note("damage", f"{what}, first {text[:40]!r} in line {line}.", self.path))
        if self._torn:
            what = "The last line has no line break: its last cell was left out, since it may still be being written."
            out.append(Note("info", what, self.path))
        return out


def _distinct(names: list[str]) -> list[str]:
    """Names of columns: none is empty, and none is there twice."""
    out: list[str] = []
    for i, name in enumerate(names):
        name = name or f"column {i + 1}"
        while name in out:
            name += "'"
        out.append(name)
    return out
