"""W&B's `wandb-summary.json`: the last value of every metric, where the run's own file is not there."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import cells_of, document_in
from pulseboard.read.parsing.numbers import json_number, step_of
from pulseboard.read.parsing.series_builder import SeriesBuilder

_NOTE = "Only the last value of each metric: the file with the history of the run is missing."


def _has_no_history(candidate: Candidate) -> bool:
    directory = os.path.dirname(candidate.path)
    return b'"_step"' in candidate.head and not os.path.exists(os.path.join(directory, "wandb-history.jsonl"))


def _run_directory(path: str) -> str:
    directory = os.path.dirname(path)
    return os.path.dirname(directory) if os.path.basename(directory) == "files" else directory


@reader(
    id="wandb-summary",
    files=("wandb-summary.json",),
    recognizes=_has_no_history,
    training_directory=_run_directory,
)
def read_summary(path: str) -> Iterator[RunData]:
    """One run of one point per metric."""
    document, notes = document_in(path)
    document = document if isinstance(document, dict) else {}
    step = step_of(json_number(document.get("_step"))) or 0
    wall_time = json_number(document.get("_timestamp"))
    builder = SeriesBuilder()
    for name, value in cells_of(document):
        if not isinstance(value, str) and not name.startswith("_"):
            builder.add(name, step=step, value=value, **({} if wall_time is None else {"wall_time": wall_time}))
    yield RunData(builder.series(), notes=[*notes, Note("info", _NOTE, path)])
