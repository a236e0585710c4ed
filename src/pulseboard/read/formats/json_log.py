"""The JSON log: records with "log", "time" and "step", in an array or one per line (rundir/json_log.py)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from pulseboard.core.json_numbers import decode_number
from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import MAX_DOCUMENT_BYTES, object_in
from pulseboard.read.parsing.numbers import step_of
from pulseboard.read.parsing.series_builder import SeriesBuilder
from pulseboard.read.parsing.text import encoding_of, lines_of
from pulseboard.rundir import json_log, layout
from pulseboard.rundir.json_log_metrics import metrics_of
from pulseboard.rundir.json_log_repair import complete_records
from pulseboard.rundir.regular_file import open_regular
from pulseboard.rundir.run_file import find_run_file

_BETWEEN_RECORDS = "[], \t"


def _is_json_log(candidate: Candidate) -> bool:
    start = "".join(candidate.lines[:40]).lstrip("[ \t,")
    if not start:  # just created
        return os.path.basename(candidate.path) == layout.JSON_LOG_FILE
    first = start[: start.find("}") + 1]
    return '"log"' in first and '"step"' in first


@reader(id="json-log", files=("*.json", "*.jsonl"), recognizes=_is_json_log, named_after_directory=True)
def read_json_log(path: str) -> Iterator[RunData]:
    """One run, with the same tags as in event files. If the log was truncated, its complete records are read."""
    builder, bad, notes = SeriesBuilder(), 0, list[Note]()
    for record in _records(path, notes):
        try:
            step = step_of(decode_number(record.get("step")))
            values = metrics_of(record, style="tensorboard")
        except (AttributeError, KeyError, TypeError, ValueError):
            step, values = None, {}
        if step is None:
            bad += 1
            continue
        wall_time = json_log.wall_time(record)
        for tag, value in values.items():
            builder.add(tag, step=step, value=value, wall_time=wall_time)
    if bad:
        notes.append(Note("damage", f"Left out {plural(bad, 'record')} of unknown kind or without a step.", path))
    yield RunData(builder.series(), config=_config(path), notes=notes)


def _records(path: str, notes: list[Note]) -> Iterator[dict[str, Any]]:
    """Every record. If each is on a line of its own, as in the logs we write, they are read one at a time."""
    if not _has_one_record_per_line(path):
        yield from _records_in_document(path, notes)
        return
    bad = 0
    for line in lines_of(path):
        text = line.text.strip(_BETWEEN_RECORDS)
        record = object_in(text)
        if record is not None:
            yield record
        elif line.complete:
            bad += bool(text) or line.too_long
        elif text:
            what = "The last record is incomplete: the log was truncated, or is still being written."
            notes.append(Note("info", what, path))
    if bad:
        notes.append(Note("damage", f"Left out {plural(bad, 'line')} without a complete record.", path))


def _has_one_record_per_line(path: str) -> bool:
    texts = (text for line in lines_of(path) if (text := line.text.strip(_BETWEEN_RECORDS)) or line.too_long)
    return object_in(next(texts, "{}")) is not None


def _records_in_document(path: str, notes: list[Note]) -> list[dict[str, Any]]:
    """The records of an array that is formatted in another way, or that ends within its first record."""
    if os.path.getsize(path) > MAX_DOCUMENT_BYTES:
        what = "Left out: the JSON log is too large to be read at once. To have it read, write one record per line."
        notes.append(Note("unreadable", what, path))
        return []
    with open_regular(path) as stream:
        data = stream.read()
    text = data.decode(encoding_of(data) or "utf-8", "replace")
    try:
        found = json.loads(text)
        if isinstance(found, list):
            return [item for item in found if isinstance(item, dict)]
    except (ValueError, RecursionError):
        pass
    lines = complete_records(text.encode("utf-8"))
    what = (
        f"The JSON log is incomplete: it was truncated, or is still being written. Read {plural(len(lines), 'record')}."
    )
    notes.append(Note("info", what, path))
    return [record for line in lines if (record := object_in(line)) is not None]


def _config(path: str) -> dict[str, Any]:
    """The configuration in the run.json next to the log."""
    run_file = find_run_file(os.path.dirname(path))
    return run_file.config if run_file else {}
