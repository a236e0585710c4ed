"""JSON: one object per line, an array of objects, or one object of columns.

dreamer's metrics.jsonl, detectron2's metrics.json, MAE's log.txt, a dumped Keras History, and what people
write themselves.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.kernel import lines as kernel
from pulseboard.read.appending.growing_runs import GrowingRuns
from pulseboard.read.axis.build import Column
from pulseboard.read.axis.names import is_counter
from pulseboard.read.format import HEAD_BYTES, Candidate, RunData, reader
from pulseboard.read.formats.csv_table import METRIC_NAME
from pulseboard.read.parsing.growing import following
from pulseboard.read.parsing.line_file import LineFile, threads_for
from pulseboard.read.parsing.line_table import UTC, LinePlan, LineTable, Token
from pulseboard.read.parsing.numbers import json_number, time_of
from pulseboard.read.parsing.table_runs import TIME_NAMES, runs_of_table
from pulseboard.read.parsing.text import decoded_lines, encoding_of
from pulseboard.rundir.regular_file import open_regular

_MAX_DEPTH = 8
_MIN_COLUMN = 3
_MAX_PREAMBLE = 3
# A parsed document takes about ten times its size in memory.
MAX_DOCUMENT_BYTES = 512 << 20
# A larger document, found in a directory, is data rather than a log.
_MAX_FOUND_DOCUMENT_BYTES = 64 << 20


def cells_of(record: dict[str, Any], *, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, float | str]]:
    """The numbers and texts of a record by name; those of a nested object as `object/name`."""
    for name, value in record.items():
        if isinstance(value, dict):
            if depth < _MAX_DEPTH:
                yield from cells_of(value, prefix=f"{prefix}{name}/", depth=depth + 1)
        elif (found := json_number(value)) is not None:
            yield prefix + name, found
        elif isinstance(value, str):
            yield prefix + name, value


def object_in(text: str) -> dict[str, Any] | None:
    """The JSON object that a text consists of; None if it is anything else."""
    text = text.strip()
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_training_json(candidate: Candidate) -> bool:
    lines = [line for line in candidate.lines[:50] if line.strip()]
    if not lines or lines[0].lstrip()[0] not in "[{":
        return False
    if (first := object_in(lines[0])) is not None and not records_in(first):
        likely = candidate.path.lower().endswith(("jsonl", "ndjson")) or candidate.given
        # The first objects may describe the machine and the settings.
        following = [found for line in lines[1:_MAX_PREAMBLE] if (found := object_in(line)) is not None]
        return (likely or bool(following)) and any(map(_looks_like_a_step, [first, *following]))
    if not candidate.given and not _may_hold_records(candidate):
        return False
    records = records_in(document_in(candidate.path)[0])
    return bool(records) and (candidate.given or (len(records) > 1 and _looks_like_a_step(records[0])))


def _looks_like_a_step(record: dict[str, Any]) -> bool:
    names = [name for name, value in cells_of(record) if not isinstance(value, str)]
    return any(is_counter(name) or METRIC_NAME.search(name) for name in names)


def _may_hold_records(candidate: Candidate) -> bool:
    """A cheap check before the whole document is parsed."""
    if os.path.getsize(candidate.path) > _MAX_FOUND_DOCUMENT_BYTES:
        return False
    start = "".join(candidate.lines[:50])
    return any(map(is_counter, re.findall(r'"([\w ]+)"', start))) or bool(METRIC_NAME.search(start))


class RecordTable:
    """Columns from records that were parsed one by one."""

    def __init__(self) -> None:
        self.row_count = 0
        self._columns: dict[str, tuple[array[int], array[float]]] = {}

    def add(self, record: dict[str, Any]) -> None:
        """Add a row."""
        for name, value in cells_of(record):
            if isinstance(value, str):
                wall_time = time_of(value) if name.lower() in TIME_NAMES else None
                if wall_time is None:
                    continue
                name, value = UTC, wall_time
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = (array("q"), array("d"))
            column[0].append(self.row_count)
            column[1].append(value)
        self.row_count += 1

    def columns(self) -> dict[str, Column]:
        """Every column, in order of appearance."""
        return {name: Column(np.array(rows), np.array(values)) for name, (rows, values) in self._columns.items()}


@dataclass(frozen=True, slots=True)
class _BadLine(LinePlan):
    """Lines that are not JSON objects."""


class JsonLines:
    """The numbers in a file with one object per line."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = LineFile(path)
        self._table = LineTable(
            _classify, mode=kernel.JSON, threads=threads_for(path), size_bytes=os.path.getsize(path)
        )
        self._runs = GrowingRuns(path)
        self.read_on()

    def read_on(self) -> bool:
        """Read the lines that were added since. False if the file must be read from the start, in another object."""
        if not self._file.feed(self._table):
            return False
        rest = self._file.rest if self._file.has_unfinished_line else b""
        self._incomplete = self._file.has_unfinished_line and object_in(rest.decode("utf-8", "replace")) is None
        self._rows = self._table.rows(b"" if self._incomplete else rest)
        return True

    def runs(self) -> Iterator[RunData]:
        """The runs in it."""
        yield from self._runs.update(self._rows, notes=self._notes())

    def _notes(self) -> list[Note]:
        """What is wrong with the file."""
        out = []
        bad = sum(use.count for use in self._rows.uses if isinstance(use.plan, _BadLine)) + self._file.skipped_lines
        if bad:
            out.append(Note("damage", f"Left out {plural(bad, 'line')} without a JSON object.", self.path))
        if self._table.is_full:
            out.append(Note("damage", "Left out lines: their objects have too many different forms.", self.path))
        if self._incomplete:
            what = "The last line is incomplete: the file was truncated, or is still being written."
            out.append(Note("info", what, self.path))
        return out


class JsonDocument:
    """The records in a file that is one JSON document. It cannot grow, only be written again."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read_on(self) -> bool:
        """False."""
        return False

    def runs(self) -> Iterator[RunData]:
        """The runs in it."""
        document, notes = document_in(self.path)
        table = RecordTable()
        for record in records_in(document):
            table.add(record)
        yield from runs_of_table(table.columns(), table.row_count, path=self.path, notes=notes)


def _classify(line: str, tokens: list[Token]) -> LinePlan | None:
    """The names of the numbers in an object. Each is replaced by its place, so that the parser finds them."""
    if not line.strip():
        return None
    parts: list[str] = []
    for place, token in enumerate(tokens):
        quoted = token.before.endswith('"')
        parts += [token.before, f"\\u0001{place}" if quoted else str(place)]
    skeleton = object_in("".join([*parts, tokens[-1].after if tokens else line]))
    if skeleton is None or object_in(line) is None:
        return _BadLine((), new_row=False)
    if skeleton.get("mode") in ("val", "test"):
        skeleton.pop("iter", None)  # MMCV: the length of the validation data
    columns: list[tuple[int, str, float]] = []
    for name, value in cells_of(skeleton):
        if not isinstance(value, str):
            columns.append((int(value), name, 1.0))
        elif value.startswith("\1") and value[1:].isdecimal() and int(value[1:]) < len(tokens):
            place = int(value[1:])
            if not tokens[place].is_time:
                columns.append((place, name, 1.0))
            elif name.lower() in TIME_NAMES:
                columns.append((place, tokens[place].time_column, 1.0))
    return LinePlan(tuple(columns))


def _opened(path: str) -> JsonLines | JsonDocument:
    with open_regular(path) as stream:
        head = stream.read(HEAD_BYTES)
    lines = [line for line in decoded_lines(head, truncated=len(head) == HEAD_BYTES) if line.strip()]
    first = object_in(lines[0]) if lines else None
    if first is None and lines and not lines[0].lstrip().startswith(("[", "{")):
        first = next((found for line in lines[:50] if (found := object_in(line)) is not None), None)
    return JsonDocument(path) if first is None or records_in(first) else JsonLines(path)


def _runs_of(log: JsonLines | JsonDocument) -> Iterator[RunData]:
    return log.runs()


@reader(
    id="json",
    files=("*.jsonl", "*.ndjson", "*.json", "*.txt", "*.log", "log"),
    recognizes=_is_training_json,
    fallback=True,
    follow=following(_opened, _runs_of),
)
def read_json(path: str) -> Iterator[RunData]:
    """Every number in the records, except steps and times."""
    yield from _opened(path).runs()


def document_in(path: str) -> tuple[Any, list[Note]]:
    """The JSON document in a file, and what is wrong with it. None if it cannot be parsed."""
    size = os.path.getsize(path)
    if size > MAX_DOCUMENT_BYTES:
        what = f"Left out: this is a JSON document of {size >> 20} MiB. To have it read, write one object per line."
        return None, [Note("unreadable", what, path)]
    with open_regular(path) as stream:
        data = stream.read()
    encoding = encoding_of(data)
    try:
        return json.loads(data.decode(encoding or "utf-8", "replace")), []
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        return None, [Note("unreadable", f"This is not a complete JSON document: {why}.", path)]


def records_in(document: Any) -> list[dict[str, Any]]:
    """The records in an array, in an object with one array of them, or in an object whose lists are columns."""
    if isinstance(document, list):
        return [item for item in document if isinstance(item, dict)]
    if not isinstance(document, dict):
        return []
    lists = [value for value in document.values() if isinstance(value, list)]
    if lists and len(lists) == len(document) and len(set(map(len, lists))) == 1:
        return [dict(zip(map(str, document), row, strict=True)) for row in zip(*lists, strict=True)]
    arrays = [value for value in document.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(arrays) == 1 and len(arrays[0]) > 1:
        return [item for item in arrays[0] if isinstance(item, dict)]
    columns = dict(_columns_in(document))
    lengths = Counter(len(column) for column in columns.values())
    if not lengths:
        return []
    length = lengths.most_common(1)[0][0]
    # A configuration has lists too, but they are short and not called loss.
    if length < _MIN_COLUMN or not any(map(METRIC_NAME.search, columns)):
        return []
    table = {name: column for name, column in columns.items() if len(column) == length}
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def _columns_in(document: dict[str, Any], *, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, list[Any]]]:
    """The lists of numbers in an object, and in the objects in it."""
    for name, value in document.items():
        if isinstance(value, dict) and depth < _MAX_DEPTH:
            yield from _columns_in(value, prefix=f"{prefix}{name}/", depth=depth + 1)
        elif isinstance(value, list) and value and all(json_number(item) is not None or item is None for item in value):
            yield f"{prefix}{name}", value
