"""Tables in text: spaCy's training log, with a rule of dashes below its header, fastai's, without one, and copied ones.

E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE
---  ------  ------------  --------  ------  ------
  0       0          0.00     43.90    0.00    0.00

epoch     train_loss  valid_loss  accuracy  time
0         0.643280    0.558812    0.712000  00:04

A table that someone copied from a notebook has tabs, and text before it. A file that begins with one is a CSV table.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import RecordTable
from pulseboard.read.parsing.numbers import number
from pulseboard.read.parsing.table_runs import runs_of_table
from pulseboard.read.parsing.text import lines_of
from pulseboard.read.parsing.text_table import METRIC_NAME

_RULE = re.compile(r"\s*-{2,}(?:\s+-{2,})+\s*")
_CELL = re.compile(r"-{2,}")
_MAX_CHARS = 1000
_NAMES = {"E": "epoch", "#": "step"}
# Without a rule, a header begins with what the rows count, and each name is one word.
_WORD = re.compile(r"[A-Za-z_][\w/.@%\-]*")
_COUNTS = frozenset({"epoch", "step", "iter", "iteration"})
_NO_VALUE = "No log"
_DURATION = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{2})")


def _header(header: str, rule: str) -> list[str]:
    """The names above the dashes; empty if they are not aligned with them."""
    spans = [found.span() for found in _CELL.finditer(rule)]
    names = [
        header[begin : spans[i + 1][0] if i + 1 < len(spans) else None].strip() for i, (begin, _) in enumerate(spans)
    ]
    return [_NAMES.get(name, name) for name in names] if all(names) else []


def _names_in(header: str) -> list[str]:
    """The names of a header without a rule below it; empty if the line is not one."""
    if len(header) >= _MAX_CHARS:
        return []
    if "\t" in header:
        names = [name.strip() for name in header.split("\t")]
        return names if names[0].lower() in _COUNTS and all(names) and any(map(METRIC_NAME.search, names)) else []
    words = header.split()
    is_header = len(words) >= 3 and words[0].lower() in _COUNTS and all(map(_WORD.fullmatch, words))
    return words if is_header else []


def _cell(text: str) -> float | None:
    """A number, or the seconds of a time such as 01:23."""
    if found := _DURATION.fullmatch(text):
        hours, minutes, secs = (int(part or 0) for part in found.groups())
        return 3600.0 * hours + 60.0 * minutes + secs
    return number(text)


def _values(line: str, names: list[str]) -> dict[str, float] | None:
    if len(line) >= _MAX_CHARS:
        return None
    cells = [cell.strip() for cell in line.split("\t" if "\t" in line else None)]
    values = {name: _cell(cell) for name, cell in zip(names, cells, strict=False) if cell != _NO_VALUE}
    if len(cells) != len(names) or None in values.values():
        return None
    return {name: value for name, value in values.items() if value is not None}


def _is_aligned(candidate: Candidate) -> bool:
    lines = [line for line in candidate.lines if line.strip()]
    for i, (header, row) in enumerate(itertools.pairwise(lines)):
        if (i > 0 or "\t" not in header) and (names := _names_in(header)) and _values(row, names) is not None:
            return True
    for header, rule, row in zip(lines, lines[1:], lines[2:], strict=False):
        if len(rule) < _MAX_CHARS and _RULE.fullmatch(rule) and (names := _header(header, rule)):
            return "step" in names and _values(row, names) is not None
    return False


@reader(id="aligned-tables", files=("*.log", "*.txt", "*.out", "*.err"), recognizes=_is_aligned)
def read_aligned_tables(path: str) -> Iterator[RunData]:
    """One row per line of numbers below the header."""
    table, names, before = RecordTable(), list[str](), ""
    for line in lines_of(path):
        text = line.text
        if len(text) < _MAX_CHARS and _RULE.fullmatch(text):
            names = _header(before, text) or names
        elif header := _names_in(text):
            names = header
        elif names and line.complete and (values := _values(text, names)) is not None:
            table.add(values)
        before = text
    yield from runs_of_table(table.columns(), table.row_count, path=path)
