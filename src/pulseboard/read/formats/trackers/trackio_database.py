"""trackio's SQLite file: all runs of a project, one row of JSON for every call of log."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
from collections.abc import Iterator
from typing import Any

from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import cells_of
from pulseboard.read.parsing import sqlite_file
from pulseboard.read.parsing.numbers import step_of, time_of
from pulseboard.read.parsing.series_builder import SeriesBuilder


def _is_trackio(candidate: Candidate) -> bool:
    head = candidate.head
    return head.startswith(sqlite_file.MAGIC) and b"run_name" in head and b"metrics" in head and b"run_uuid" not in head


@reader(id="trackio", files=("*.db",), recognizes=_is_trackio)
def read_trackio(path: str) -> Iterator[RunData]:
    """Every run of the project."""
    try:
        with sqlite_file.opened(path, tables=("metrics", "configs")) as database:
            yield from _runs(database)
    except sqlite_file.ERRORS as error:
        yield RunData({}, notes=[sqlite_file.note_on(error, path)])


def _runs(database: sqlite3.Connection) -> Iterator[RunData]:
    builders: dict[str, SeriesBuilder] = {}
    rows = database.execute("select run_name, step, timestamp, metrics from metrics order by rowid")
    for name, step, timestamp, metrics in rows:
        record, at = _object(metrics), step_of(float(step)) if isinstance(step, int) else None
        if at is None:
            continue
        wall_time = time_of(str(timestamp))
        builder = builders.setdefault(str(name), SeriesBuilder())
        for tag, value in cells_of(record):
            if not isinstance(value, str):
                builder.add(tag, step=at, value=value, wall_time=math.nan if wall_time is None else wall_time)
    configs = dict(_configs(database))
    for name, builder in builders.items():
        yield RunData(builder.series(), name=name, config=configs.get(name, {}))


def _configs(database: sqlite3.Connection) -> Iterator[tuple[str, dict[str, Any]]]:
    with contextlib.suppress(sqlite3.Error):  # older versions have no such table
        for name, config in database.execute("select run_name, config from configs"):
            yield str(name), {key: value for key, value in _object(config).items() if not key.startswith("_")}


def _object(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
