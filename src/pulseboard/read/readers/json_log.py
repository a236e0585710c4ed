"""The JSON log: records with "log", "time" and "step", in an array or one a line (files/json_log.py)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.files import json_log, layout
from pulseboard.read.points import Points, step_of
from pulseboard.read.reader import History, Opening, reader
from pulseboard.read.readers.json_history import MOST_DOCUMENT_BYTES, object_in
from pulseboard.read.text import encoding_of, lines_of


def _is_json_log(opening: Opening) -> bool:
    start = "".join(opening.lines[:40]).lstrip("[ \t,")
    if not start:  # just begun
        return os.path.basename(opening.path) == json_log.FILE_NAME
    first = start[: start.find("}") + 1]
    return '"log"' in first and '"step"' in first


@reader(id="json-log", files=("*.json", "*.jsonl"), sees=_is_json_log, names_directory=True)
def read_json_log(path: str) -> Iterator[History]:
    """One run, its metrics named as in event files. A log that was cut keeps its whole records."""
    points, bad, notes = Points(), 0, list[Note]()
    for record in _records(path, notes):
        try:
            step = step_of(json_log.number(record.get("step")))
            numbers = json_log.metrics_of(record, style="tensorboard")
        except (AttributeError, KeyError, TypeError, ValueError):
            step, numbers = None, {}
        if step is None:
            bad += 1
            continue
        wall_time = json_log.wall_time(record)
        for tag, value in numbers.items():
            points.add(tag, step=step, value=value, wall_time=wall_time)
    if bad:
        notes.append(Note("damage", f"Left out {bad} records that are not of a kind we know, or have no step.", path))
    yield History(points.series(), config=_config(path), notes=notes)


def _records(path: str, notes: list[Note]) -> Iterator[dict[str, Any]]:
    """Every record. Where each has a line of its own, as our logs have them, one at a time."""
    if not _has_a_record_a_line(path):
        yield from _records_of_document(path, notes)
        return
    bad = 0
    for line in lines_of(path):
        text = line.text.strip(_AROUND_RECORDS)
        record = object_in(text)
        if record is not None:
            yield record
        elif line.whole:
            bad += bool(text) or line.too_long
        elif text:
            what = "The last record is not whole: the log was cut there, or is still being written."
            notes.append(Note("info", what, path))
    if bad:
        notes.append(Note("damage", f"Left out {bad} lines that are no whole records.", path))


_AROUND_RECORDS = "[], \t"


def _has_a_record_a_line(path: str) -> bool:
    texts = (text for line in lines_of(path) if (text := line.text.strip(_AROUND_RECORDS)) or line.too_long)
    return object_in(next(texts, "{}")) is not None


def _records_of_document(path: str, notes: list[Note]) -> list[dict[str, Any]]:
    """The records of an array that is written in another way, or was cut within its first record."""
    if os.path.getsize(path) > MOST_DOCUMENT_BYTES:
        what = "Left out: a JSON log too large to be read at once. Write one record a line to have it read."
        notes.append(Note("unreadable", what, path))
        return []
    with open(path, "rb") as stream:
        data = stream.read()
    text = data.decode(encoding_of(data) or "utf-8", "replace")
    try:
        found = json.loads(text)
        if isinstance(found, list):
            return [item for item in found if isinstance(item, dict)]
    except (ValueError, RecursionError):
        pass
    lines = json_log.complete_records(text.encode("utf-8"))
    what = f"The JSON log is not whole: it was cut, or is still being written. {len(lines)} records were read."
    notes.append(Note("info", what, path))
    return [record for line in lines if (record := object_in(line)) is not None]


def _config(path: str) -> dict[str, Any]:
    """What the run's own file beside the log says of its configuration."""
    try:
        with open(os.path.join(os.path.dirname(path), layout.RUN_FILE), "rb") as stream:
            about = json.load(stream)
        config = about["config"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return {}
    return config if isinstance(config, dict) else {}
