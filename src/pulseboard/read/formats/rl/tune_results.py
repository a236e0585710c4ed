"""What Ray Tune and RLlib print for every result: a line that names the trial, and its metrics as YAML or in a box.

Result for PPO_CartPole_1a2b3_00000:
  episode_reward_mean: 21.5
  info:
    learner:
      total_loss: 8.25
  timesteps_total: 4000

│ Trial PPO_CartPole_1a2b3_00000 result  │
├────────────────────────────────────────┤
│ training_iteration                   4 │
╰────────────────────────────────────────╯
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import RecordTable
from pulseboard.read.parsing.numbers import number
from pulseboard.read.parsing.table_runs import runs_of_table
from pulseboard.read.parsing.text import lines_of

_TRIAL = re.compile(r"(?:Result for (?P<plain>\S{1,200}):|│ Trial (?P<boxed>\S{1,200}) result\s+│)\s*")
_BEGINNINGS = ("Result for ", "│ Trial ")
_ITEM = re.compile(r"( +)'?([^\s:'][^:']{0,200}?)'?:(?: +(\S.*?))?\s*")
_CELL = re.compile(r"│ (\S.*?)(?:\s+(\S+))? │\s*")
_MAX_LINE_CHARS = 4096
_MIN_INDENT = 2


def _is_tune(candidate: Candidate) -> bool:
    return any(_trial_in(line) for line in candidate.lines)


def _trial_in(line: str) -> str:
    """The trial whose result begins at a line; empty if none does."""
    found = _TRIAL.fullmatch(line) if line.startswith(_BEGINNINGS) and len(line) < _MAX_LINE_CHARS else None
    return (found["plain"] or found["boxed"]) if found else ""


@reader(id="ray-tune", files=("*.log", "*.txt", "*.out", "*.err"), recognizes=_is_tune)
def read_tune_results(path: str) -> Iterator[RunData]:
    """One run per trial. The steps are those of the environment, else the iterations."""
    tables: dict[str, RecordTable] = {}
    notes: list[Note] = []
    result = _Result("")
    for line in lines_of(path):
        trial = _trial_in(line.text)
        if trial or (result.trial and not result.add(line.text, complete=line.complete)):
            result.store(tables)
            result = _Result(trial)
        if not line.complete and result.trial:
            notes.append(Note("info", "The last result is incomplete: its last number was left out.", path))
    result.store(tables)
    for trial, table in tables.items():
        for run in runs_of_table(table.columns(), table.row_count, path=path, notes=notes):
            if len(tables) > 1:
                run.name = "/".join(filter(None, [trial, run.name]))
            yield run
        notes = []


class _Result:
    """The metrics of one result, as they are read line by line."""

    def __init__(self, trial: str) -> None:
        self.trial = trial
        self._record: dict[str, float] = {}
        self._groups: list[tuple[int, str]] = []  # indentation and name

    def add(self, text: str, *, complete: bool) -> bool:
        """Read a line. False if it is not a part of the result, which has then ended."""
        if len(text) >= _MAX_LINE_CHARS:
            return True
        if text.startswith("│"):
            if (cell := _CELL.fullmatch(text)) and cell[2]:
                self._keep(cell[1], cell[2], complete=complete)
            return True
        found = _ITEM.fullmatch(text)
        if found is None or len(found[1]) < _MIN_INDENT:
            # A rule, or an item of a list; an empty line ends a result.
            return text.startswith("├") or bool(text[:_MIN_INDENT].isspace() and text.strip())
        indent, name, value = len(found[1]), found[2], found[3]
        while self._groups and self._groups[-1][0] >= indent:
            self._groups.pop()
        if value is None:
            self._groups.append((indent, name))
        else:
            self._keep("/".join([*(group for _, group in self._groups), name]), value, complete=complete)
        return True

    def _keep(self, name: str, value: str, *, complete: bool) -> None:
        if complete and (measured := number(value)) is not None:
            self._record[name] = measured

    def store(self, tables: dict[str, RecordTable]) -> None:
        """Add the metrics to the table of the trial."""
        if self.trial and self._record:
            tables.setdefault(self.trial, RecordTable()).add(self._record)
