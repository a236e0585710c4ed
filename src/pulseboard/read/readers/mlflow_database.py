"""MLflow's SQLite store: `mlflow.db`, all runs of all experiments in one file."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import sys
import urllib.parse
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.read.points import Points
from pulseboard.read.reader import History, Opening, reader

_HEAD = b"SQLite format 3\0"


def _is_mlflows(opening: Opening) -> bool:
    # The schema stands as text in the first pages.
    return opening.data.startswith(_HEAD) and b"run_uuid" in opening.data


@reader(id="mlflow-database", files=("*.db", "*.sqlite", "*.sqlite3"), sees=_is_mlflows)
def read_database(path: str) -> Iterator[History]:
    """Every run, as experiment/run. Runs that were deleted in MLflow are left out."""
    try:
        with contextlib.closing(_open(path)) as database:
            yield from _runs(database)
    except sqlite3.Error as error:
        yield History({}, notes=[Note("damage", f"The database cannot be read further: {error}.", path)])


def _open(path: str) -> sqlite3.Connection:
    """Read-only; where the place allows no lock file beside the database, as a file that nobody writes."""
    quoted = urllib.parse.quote(os.path.abspath(path))
    for mode in ("mode=ro", "immutable=1"):
        database = sqlite3.connect(f"file:{quoted}?{mode}", uri=True)
        # What programs put into text columns may be no text.
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        try:
            database.execute("select count(*) from sqlite_master").fetchone()
            return database
        except sqlite3.OperationalError:
            database.close()
            if mode == "immutable=1":
                raise
    raise AssertionError("one of the two ways has returned or raised")


def _runs(database: sqlite3.Connection) -> Iterator[History]:
    experiments = dict(database.execute("select experiment_id, name from experiments"))
    runs = database.execute(
        "select run_uuid, name, experiment_id from runs where lifecycle_stage is not 'deleted' order by start_time"
    ).fetchall()
    taken: dict[str, int] = {}
    for id, name, experiment in runs:
        full = f"{experiments.get(experiment, experiment)}/{name or id}"
        taken[full] = taken.get(full, 0) + 1
    for id, name, experiment in runs:
        full = f"{experiments.get(experiment, experiment)}/{name or id}"
        if taken[full] > 1:
            full = f"{full} {id}"
        points = Points()
        rows = database.execute(
            "select key, value, timestamp, step, is_nan from metrics where run_uuid = ? order by rowid",
            (id,),
        )
        for tag, value, timestamp, step, is_nan in rows:
            if isinstance(step, int) and isinstance(timestamp, int | float):
                points.add(str(tag), step=step, value=_number(value, is_nan), wall_time=timestamp / 1e3)
        config: dict[str, Any] = dict(database.execute("select key, value from params where run_uuid = ?", (id,)))
        yield History(points.series(), name=full, config=config)


def _number(value: Any, is_nan: Any) -> float:
    if is_nan or not isinstance(value, int | float):
        return math.nan
    # MLflow keeps infinities as the largest number that a column takes.
    return math.copysign(math.inf, value) if abs(value) >= sys.float_info.max else float(value)
