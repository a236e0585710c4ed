"""Coqui's trainer (`trainer_0_log.txt`): a line with the global step, and the losses below it.

  --> TIME: 2026-01-01 00:00:00 -- STEP: 5/10 -- GLOBAL_STEP: 1005
    | > loss: 2.1875  (2.6)
> EVALUATION
  --> STEP: 0
    | > loss: 3.0  (3.0)
 --> EVAL PERFORMANCE
    | > avg_loss: 3.0 (+0.0)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import RecordTable
from pulseboard.read.parsing.numbers import number, time_of
from pulseboard.read.parsing.table_runs import runs_of_table
from pulseboard.read.parsing.text import lines_of

_COLORS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_STEP = re.compile(r"\s*--> (?:TIME: (?P<time>\S+ \S+) -- )?STEP: \d+/\d+ -- GLOBAL_STEP: (?P<step>\d{1,15})\s*")
_EPOCH = re.compile(r"\s*> EPOCH: (\d{1,9})/\d+\s*")
_VALUE = re.compile(r"\s*\| > (?P<name>[\w./\- ]{1,100}):\s*(?P<value>\S+)(?:\s+\(.*\))?\s*")
_EVALUATION = re.compile(r"\s*(?:> EVALUATION|--> EVAL PERFORMANCE)\s*")
_MAX_CHARS = 400


def _plain(line: str) -> str:
    return _COLORS.sub("", line) if len(line) < _MAX_CHARS else ""


def _is_coqui(candidate: Candidate) -> bool:
    lines = map(_plain, candidate.lines)
    return any(_STEP.fullmatch(line) for line in lines) and any(_VALUE.fullmatch(line) for line in lines)


@reader(id="coqui", files=("*.txt", "*.log", "*.out"), recognizes=_is_coqui)
def read_coqui(path: str) -> Iterator[RunData]:
    """One run. Values of the evaluation are put below `eval/`, at the last step before it."""
    table, notes = RecordTable(), list[Note]()
    record: dict[str, float | str] = {}
    counts: dict[str, float | str] = {}
    prefix = ""

    def finish() -> None:
        if record and "global_step" in counts:
            table.add({**counts, **record})
        record.clear()

    for line in lines_of(path):
        text = _plain(line.text)
        if found := _STEP.fullmatch(text):
            finish()
            counts["global_step"], prefix = float(found["step"]), ""
            counts.pop("time", None)
            if found["time"] and time_of(found["time"]) is not None:
                counts["time"] = found["time"]
        elif found := _EPOCH.fullmatch(text):
            finish()
            counts["epoch"] = float(found[1])
        elif _EVALUATION.fullmatch(text):
            finish()
            prefix = "eval/"
        elif (found := _VALUE.fullmatch(text)) and (value := number(found["value"])) is not None:
            if not line.complete:
                notes.append(Note("info", "The last line is incomplete and was left out.", path))
            elif (name := prefix + found["name"].strip()) in record:
                finish()  # the next batch of an evaluation
                record[name] = value
            else:
                record[name] = value
    finish()
    yield from runs_of_table(table.columns(), table.row_count, path=path, notes=notes)
