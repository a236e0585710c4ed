"""Tables drawn with lines, one per report: stable-baselines3, OpenAI Baselines and Spinning Up on standard output.

-----------------------------
| time/              |      |
|    fps             | 2012 |
|    total_timesteps | 2048 |
-----------------------------
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.read.axis.names import is_counter
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import RecordTable
from pulseboard.read.parsing.numbers import number
from pulseboard.read.parsing.table_runs import runs_of_table
from pulseboard.read.parsing.text import lines_of

_RULE = re.compile(r"\s*[-=+]{9,}\s*")
_MAX_ROW_CHARS = 400
_MIN_ROWS = 2


def _row(text: str) -> tuple[str, str] | None:
    """The name and the value of a row; None if the line is not one."""
    text = text.strip()
    if len(text) > _MAX_ROW_CHARS or not (text.startswith("|") and text.endswith("|")):
        return None
    cells = text[1:-1].split("|")
    return (cells[0], cells[1].strip()) if len(cells) == 2 else None


def _is_boxed(candidate: Candidate) -> bool:
    """Whether there are two tables that count the training. If the user gave the file, one is enough."""
    tables = 0
    names: list[str] = []
    for line in candidate.lines:
        if _RULE.fullmatch(line):
            tables += len(names) >= _MIN_ROWS and any(map(is_counter, names))
            if tables == (1 if candidate.given else 2):
                return True
            names = []
        elif (row := _row(line)) is not None and number(row[1]) is not None:
            names.append(row[0].strip())
    return False


@reader(id="boxed-tables", files=("*.log", "*.txt", "*.out", "*.err"), recognizes=_is_boxed)
def read_boxed_tables(path: str) -> Iterator[RunData]:
    """Every table is a row. Names in a group, such as `time/`, are put after it."""
    table, notes = RecordTable(), list[Note]()
    record: dict[str, float] = {}
    group = ""
    for line in lines_of(path):
        row = _row(line.text)
        if row is None:
            if _RULE.fullmatch(line.text):
                if record:
                    table.add(record)
                record, group = {}, ""
            continue
        name, value = row[0].strip(), number(row[1])
        if value is None:
            group = name if name.endswith("/") and not row[1] else group
        else:
            # Only names in a group are set in from its own.
            record[f"{group}{name}" if group and row[0].startswith("   ") else name] = value
        if not line.complete:
            notes.append(Note("info", "The last table is incomplete and was left out.", path))
    yield from runs_of_table(table.columns(), table.row_count, path=path, notes=notes)
