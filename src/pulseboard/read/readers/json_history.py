"""Histories as JSON: an object a line, an array of objects, or one object of columns.

dreamer's metrics.jsonl, detectron2's metrics.json, MAE's log.txt, a dumped Keras History, and what people
write themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.read.points import STEP_NAMES, Rows, plain_number
from pulseboard.read.reader import History, Opening, reader
from pulseboard.read.readers.csv_history import METRIC_NAME
from pulseboard.read.text import encoding_of, lines_of

_MOST_DEPTH = 8
# Whole documents are held in memory, in some ten times their size.
MOST_DOCUMENT_BYTES = 512 << 20
# Larger documents among many files are data.
_MOST_UNASKED_BYTES = 64 << 20


def cells_of(record: dict[str, Any], *, above: str = "", depth: int = 0) -> Iterator[tuple[str, float | str]]:
    """The numbers and texts of a record by name; those in an object within it as `object/name`."""
    for name, value in record.items():
        if isinstance(value, dict):
            if depth < _MOST_DEPTH:
                yield from cells_of(value, above=f"{above}{name}/", depth=depth + 1)
        elif (found := plain_number(value)) is not None:
            yield above + name, found
        elif isinstance(value, str):
            yield above + name, value


def object_in(text: str) -> dict[str, Any] | None:
    """The object that a text is; None for everything else."""
    text = text.strip()
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_history(opening: Opening) -> bool:
    lines = [line for line in opening.lines[:50] if line.strip()]
    if not lines or lines[0].lstrip()[0] not in "[{":
        return False
    if (first := object_in(lines[0])) is not None and not _records(first):
        likely = opening.path.lower().endswith(("jsonl", "ndjson")) or opening.named
        return (likely or object_in("".join(lines[1:2])) is not None) and _like_a_step(first)
    if not opening.named and not _may_hold_records(opening):
        return False
    records = _records(document_of(opening.path)[0])
    return bool(records) and (opening.named or (len(records) > 1 and _like_a_step(records[0])))


def _like_a_step(record: dict[str, Any]) -> bool:
    names = [name for name, value in cells_of(record) if not isinstance(value, str)]
    return any(name.lower() in STEP_NAMES or METRIC_NAME.search(name) for name in names)


def _may_hold_records(opening: Opening) -> bool:
    """A cheap look before a whole document is parsed."""
    if os.path.getsize(opening.path) > _MOST_UNASKED_BYTES:
        return False
    start = "".join(opening.lines[:50])
    return any(f'"{name}"' in start for name in STEP_NAMES) or bool(METRIC_NAME.search(start))


@reader(id="json", files=("*.jsonl", "*.ndjson", "*.json", "*.txt", "*.log"), sees=_is_history, generic=True)
def read_json(path: str) -> Iterator[History]:
    """One run: every number of the records but step and time."""
    rows, notes = Rows(), list[Note]()
    bad = torn = 0
    for line in lines_of(path):
        record = object_in(line.text)
        if record is not None:
            for row in _records(record) or [record]:
                rows.add(cells_of(row))
        elif line.number == 1 and line.text.strip().startswith(("[", "{")):
            document, notes = document_of(path)
            for record in _records(document):
                rows.add(cells_of(record))
            break
        elif line.text.strip() and not line.whole:
            torn = 1
        elif line.text.strip() or line.too_long:
            bad += 1
    if bad:
        notes.append(Note("damage", f"Left out {bad} lines that are no JSON objects.", path))
    if torn:
        notes.append(
            Note("info", "The last line is not whole: the file was cut there, or is still being written.", path)
        )
    yield History(rows.series(), notes=notes)


def document_of(path: str) -> tuple[Any, list[Note]]:
    """A JSON document, and what is wrong with it. None where it is none."""
    size = os.path.getsize(path)
    if size > MOST_DOCUMENT_BYTES:
        what = f"Left out: a JSON document of {size >> 20} MiB. Write one object a line to have it read."
        return None, [Note("unreadable", what, path)]
    with open(path, "rb") as stream:
        data = stream.read()
    encoding = encoding_of(data)
    try:
        return json.loads(data.decode(encoding or "utf-8", "replace")), []
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else "it is nested too deep"
        return None, [Note("unreadable", f"This is no whole JSON document: {why}.", path)]


def _records(document: Any) -> list[dict[str, Any]]:
    """The records of an array, or of an object whose lists are the columns of a table."""
    if isinstance(document, list):
        return [item for item in document if isinstance(item, dict)]
    if not isinstance(document, dict):
        return []
    columns = {str(name): value for name, value in document.items() if isinstance(value, list)}
    lengths = {len(column) for column in columns.values()}
    if len(columns) < len(document) or len(lengths) != 1:  # a configuration has lists too
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
