"""One value per line, after its step and its name: `250 val 3.2812`, as build-nanogpt's log.txt has it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.parsing.growing import following
from pulseboard.read.parsing.line_file import LineFile
from pulseboard.read.parsing.line_table import LinePlan, LineTable, Token
from pulseboard.read.parsing.table_runs import runs_of_table

_LINE = re.compile(r"\s*\d{1,18}\s+([A-Za-z][\w./]{0,60})\s+[-+]?(?:[\d.]+(?:e[-+]?\d+)?|nan|inf)\s*", re.IGNORECASE)
_TAGS = {"train": "train/loss", "val": "val/loss", "hella": "hellaswag/accuracy"}
_MIN_LINES = 2


def _is_step_name_value(candidate: Candidate) -> bool:
    lines = [line for line in candidate.lines[:200] if line.strip()]
    return len(lines) >= _MIN_LINES and all(len(line) < 200 and _LINE.fullmatch(line) for line in lines)


def _classify(line: str, tokens: list[Token]) -> LinePlan | None:
    found = _LINE.fullmatch(line) if len(line) < 200 else None
    if found is None or len(tokens) != 2:
        return None
    return LinePlan(((0, "step", 1.0), (1, _TAGS.get(found[1], found[1]), 1.0)))


class NamedValues:
    """The values in a file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._table, self._file = LineTable(_classify), LineFile(path)
        self.read_on()

    def read_on(self) -> bool:
        """Read the lines that were added since. False if the file must be read from the start, in another object."""
        return self._file.feed(self._table)

    def runs(self) -> Iterator[RunData]:
        """The runs in it."""
        rows = self._table.rows()
        yield from runs_of_table(rows.columns(), rows.row_count, path=self.path)


@reader(
    id="step-name-value",
    files=("*.txt", "*.log"),
    recognizes=_is_step_name_value,
    follow=following(NamedValues, NamedValues.runs),
)
def read_step_name_value(path: str) -> Iterator[RunData]:
    """One series per name."""
    yield from NamedValues(path).runs()
