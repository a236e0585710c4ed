"""Tables aligned with spaces below a header and a rule of dashes: spaCy's training log.

E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE
---  ------  ------------  --------  ------  ------
  0       0          0.00     43.90    0.00    0.00
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import RecordTable
from pulseboard.read.parsing.numbers import number
from pulseboard.read.parsing.table_runs import runs_of_table
from pulseboard.read.parsing.text import lines_of

_RULE = re.compile(r"\s*-{2,}(?:\s+-{2,})+\s*")
_CELL = re.compile(r"-{2,}")
_MAX_CHARS = 1000
_NAMES = {"E": "epoch", "#": "step"}


def _header(header: str, rule: str) -> list[str]:
    """The names above the dashes; empty if they are not aligned with them."""
    spans = [found.span() for found in _CELL.finditer(rule)]
    names = [
        header[begin : spans[i + 1][0] if i + 1 < len(spans) else None].strip() for i, (begin, _) in enumerate(spans)
    ]
    return [_NAMES.get(name, name) for name in names] if all(names) else []


def _values(line: str, names: list[str]) -> dict[str, float] | None:
    cells = line.split() if len(line) < _MAX_CHARS else []
    values = [number(cell) for cell in cells]
    if len(values) != len(names) or None in values:
        return None
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _is_aligned(candidate: Candidate) -> bool:
    lines = candidate.lines
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
        elif names and line.complete and (values := _values(text, names)) is not None:
            table.add(values)
        before = text
    yield from runs_of_table(table.columns(), table.row_count, path=path)
