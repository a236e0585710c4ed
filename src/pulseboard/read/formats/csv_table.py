"""CSV: a header, then one row per step. Keras' CSVLogger, W&B exports, and what people write themselves."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.kernel import lines as kernel
from pulseboard.read.appending.growing_runs import Found, GrowingRuns
from pulseboard.read.axis.build import Column
from pulseboard.read.axis.names import is_counter
from pulseboard.read.format import HEAD_BYTES, Candidate, RunData, reader
from pulseboard.read.parsing.csv_sections import is_header, read_sections
from pulseboard.read.parsing.growing import following
from pulseboard.read.parsing.line_file import LineFile, threads_for
from pulseboard.read.parsing.line_table import TIME, UTC, LinePlan, LineTable, Rows, Token
from pulseboard.read.parsing.numbers import number
from pulseboard.read.parsing.table_runs import TIME_NAMES, runs_of_table, searched
from pulseboard.read.parsing.text import decoded_lines
from pulseboard.rundir.regular_file import open_regular

_ACCURACY = r"acc(?:uracy)?(?![a-z])"
METRIC_NAME = re.compile(
    rf"loss|{_ACCURACY}|error|reward|return|perplexity|ppl|bpb|mse|mae|auc|f1|score", re.IGNORECASE
)
"""Matches the names of things that a training measures."""
# Datasets have columns of errors and scores too, but rarely these.
_TRAINING_NAME = re.compile(rf"loss|{_ACCURACY}|perplexity|train_|val_", re.IGNORECASE)

_SPLITS = ("train", "training", "val", "valid", "validation", "test")

_DELIMITERS = ",;\t|"
_MAX_NAME_WORDS = 4
_MAX_PRIMES = 9


def header_of(lines: list[str], path: str = "") -> list[str]:
    """The column names in a file's first lines; empty if they do not begin with a header."""
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    try:
        names = next(csv.reader([first], delimiter=delimiter_of(first)), [])
    except csv.Error:
        return []
    names = names_in_frame([name.strip() for name in names], path)
    if not any(names) or any(number(name) is not None for name in names):
        return []
    return names


def names_in_frame(names: list[str], path: str) -> list[str]:
    """A frame that pandas wrote to `loss.csv`: `,train,val` becomes `loss/train` and `loss/val`, `,0` becomes `loss`.

    Names that are clear on their own are left as they are.
    """
    metric = os.path.basename(path).split(".")[0]
    if len(names) < 2 or names[0] or not METRIC_NAME.search(metric):
        return names
    if names[1:] == ["0"]:
        return ["", metric]
    return ["", *(f"{metric}/{name}" if name.lower() in _SPLITS else name for name in names[1:])]


def delimiter_of(header: str) -> str:
    """The character that separates the names of a header."""
    return max(_DELIMITERS, key=header.count)


def _is_training_csv(candidate: Candidate) -> bool:
    names = header_of(candidate.lines[:100], candidate.path)
    rows = [line for line in candidate.lines[1:100] if line.strip() and not line.startswith("#")]
    if not candidate.path.lower().endswith((".csv", ".tsv")) and not _is_regular(names, candidate.lines[:100]):
        return False
    if candidate.given:
        # A file with only a header is one that was just started.
        return bool(names) and (2 * sum(map(_has_numbers, rows)) > len(rows) if rows else len(names) > 1)
    # Row numbers that pandas wrote count, if all that they number are metrics.
    numbered = len(names) > 1 and not names[0] and all(map(METRIC_NAME.search, names[1:]))
    return numbered or (len(names) > 1 and any(map(is_counter, names))) or any(map(_TRAINING_NAME.search, names))


def _is_regular(names: list[str], lines: list[str]) -> bool:
    """Whether a text file is a table beyond doubt: a metric, and two rows as wide as the header, with numbers."""
    rows = [line for line in lines if line.strip() and not line.startswith("#")]
    if len(names) < 2 or len(rows) < 3 or any(len(name.split()) > _MAX_NAME_WORDS for name in names):
        return False
    if not any(map(METRIC_NAME.search, names)):
        return False
    delimiter = delimiter_of(rows[0])
    cells = [row.rstrip().split(delimiter) for row in rows[1:20]]
    return all(len(row) == len(names) for row in cells[:2]) and 2 * sum(_has_numbers(row) for row in rows[1:20]) > len(
        cells
    )


def _has_numbers(line: str) -> bool:
    return any(number(cell, decimal_comma=True) is not None for cell in line.split(delimiter_of(line)))


@dataclass(frozen=True, slots=True)
class _RowPlan(LinePlan):
    """A row with some cells of text."""

    texts: tuple[tuple[str, str], ...] = ()  # column and text of the first such row
    is_row: bool = True
    is_too_wide: bool = False


class CsvTable:
    """The numbers in a CSV file, and what had to be left out."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._names: list[str] = []
        self._header_changes = False
        self._file = LineFile(path)
        first, self._header_is_complete = _first_line(path)
        self.delimiter = delimiter_of(first)
        self._table = LineTable(
            self._classify,
            mode=kernel.DELIMITED,
            delimiter=self.delimiter,
            decimal_comma=self.delimiter != ",",
            threads=threads_for(path),
            size_bytes=os.path.getsize(path),
        )
        self._read_header(first)
        self._runs = GrowingRuns(path, search=self._searched)
        self._file.feed(self._table)
        self._rows = self._current_rows()

    def read_on(self) -> bool:
        """Read the rows that were added since. False if the file must be read from the start, in another object."""
        if not self._header_is_complete or self._header_changes or not self._file.feed(self._table):
            return False
        self._rows = self._current_rows()
        return True

    def _current_rows(self) -> Rows:
        # The last cell of an incomplete line may be the first digits of a number.
        cells = self._file.rest.rpartition(self.delimiter.encode())[0] if self._file.has_unfinished_line else b""
        rows = self._table.rows(cells if cells.strip() else b"")
        self._sections = read_sections(self.path, self.delimiter) if self._header_changes else None
        return rows

    @property
    def row_count(self) -> int:
        """How many rows have numbers."""
        if self._sections is not None:
            return self._sections.row_count
        return self._rows.row_count

    def columns(self) -> dict[str, Column]:
        """The columns that hold numbers, in the order of the header."""
        if self._sections is not None:
            return self._sections.columns
        return self._in_order(self._rows.columns())

    def _in_order(self, found: Mapping[str, Column]) -> dict[str, Column]:
        return {name: found[name] for name in [*self._names, TIME, UTC] if name in found}

    def _searched(self, columns: Mapping[str, Column], row_count: int) -> Found:
        return Found(searched(self._in_order(columns), row_count))

    def runs(self, *, config: Mapping[str, Any] | None = None, notes: Collection[Note] = ()) -> Iterator[RunData]:
        """The runs in it, with a configuration and notes from elsewhere."""
        notes = [*self.notes(), *notes]
        if self._sections is None:
            yield from self._runs.update(self._rows, notes=notes, config=config or {})
        else:
            yield from runs_of_table(self.columns(), self.row_count, path=self.path, notes=notes, config=config)

    def _read_header(self, line: str) -> None:
        try:
            cells = next(csv.reader([line], delimiter=self.delimiter, skipinitialspace=True), [])
        except csv.Error:
            cells = []
        self._names = self._distinct_names(cells)

    def _distinct_names(self, cells: list[str]) -> list[str]:
        return _distinct(names_in_frame([cell.strip() for cell in cells], self.path))

    def _classify(self, line: str, tokens: list[Token]) -> LinePlan | None:
        """A row by the types of its cells. The header, and its repetition in a file written twice, are not rows."""
        cells = [token.text for token in tokens]
        if line.startswith("#") or self._distinct_names(cells) == self._names:
            return None
        if is_header(cells, self._names):
            self._header_changes = True
            return None
        columns: list[tuple[int, str, float]] = []
        texts: list[tuple[str, str]] = []
        for place, (name, token) in enumerate(zip(self._names, tokens, strict=False)):
            if token.kind == kernel.NUMBER:
                columns.append((place, name, 1.0))
            elif token.is_time and name.lower() in TIME_NAMES:
                columns.append((place, token.time_column, 1.0))
            elif token.kind != kernel.EMPTY:
                texts.append((name, token.text))
        return _RowPlan(
            tuple(columns), texts=tuple(texts), is_row=bool(columns), is_too_wide=len(tokens) > len(self._names)
        )

    def notes(self) -> list[Note]:
        """What is wrong with the file."""
        if self._sections is not None:
            what = f"The header changes in line {self._sections.line}. Every row is read by the header above it."
            return [Note("info", what, self.path)]
        uses = [(use, use.plan) for use in self._rows.uses if isinstance(use.plan, _RowPlan)]
        out = []
        if skipped := self._file.skipped_lines:
            out.append(Note("damage", f"Left out {plural(skipped, 'line')}, too long for a row.", self.path))
        if wide := sum(use.count for use, plan in uses if plan.is_too_wide):
            what = f"Left out the extra cells of {plural(wide, 'row')} with more cells than the header."
            out.append(Note("damage", what, self.path))
        if self._table.is_full:
            what = "Left out rows: they have numbers, texts and empty cells in too many different places."
            out.append(Note("damage", what, self.path))
        numeric = self._rows.names
        for name in self._names:
            places = [(use, dict(plan.texts)) for use, plan in uses if plan.is_row and name in dict(plan.texts)]
            if places and name in numeric:  # a column of nothing but text is not damaged
                first, texts = min(places, key=lambda place: place[0].first_line)
                count = sum(use.count for use, _ in places)
                what = f"Left out {plural(count, 'non-numeric cell')} of column {name!r}"
                what += f", first {texts[name][:40]!r} in line {first.first_line}."
                out.append(Note("damage", what, self.path))
        if self._file.has_unfinished_line:
            what = "The last line has no line break. Its last cell was left out, as it may still be being written."
            out.append(Note("info", what, self.path))
        return out


def _first_line(path: str) -> tuple[str, bool]:
    """The header, and whether a line break follows it."""
    with open_regular(path) as stream:
        head = stream.read(HEAD_BYTES)
    lines = decoded_lines(head, truncated=False)
    for i, line in enumerate(lines):
        if line.strip() and not line.startswith("#"):
            return line, i + 1 < len(lines)
    return "", False


def _distinct(names: list[str]) -> list[str]:
    """Column names made unique, and none of them empty: the second `loss` is `loss'`, the hundredth `loss 100`."""
    found: dict[str, None] = {}
    counts: dict[str, int] = {}
    for i, logged in enumerate(names):
        name = logged = logged or f"column {i + 1}"
        while name in found:
            n = counts[logged] = counts.get(logged, 1) + 1
            name = logged + "'" * (n - 1) if n <= _MAX_PRIMES else f"{logged} {n}"
        found[name] = None
    return list(found)


@reader(
    id="csv",
    files=("*.csv", "*.tsv", "*.log", "*.txt"),
    recognizes=_is_training_csv,
    fallback=True,
    follow=following(CsvTable, CsvTable.runs),
)
def read_csv(path: str) -> Iterator[RunData]:
    """Every column of numbers, except those of steps and times."""
    yield from CsvTable(path).runs()
