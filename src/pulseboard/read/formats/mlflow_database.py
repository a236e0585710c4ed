"""MLflow's SQLite store: `mlflow.db`, all runs of all experiments in one file."""

from __future__ import annotations

import math
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.parsing import sqlite_file
from pulseboard.read.parsing.series_builder import SeriesBuilder


def _is_mlflow_database(candidate: Candidate) -> bool:
    # The first pages contain the schema as text.
    return candidate.head.startswith(sqlite_file.MAGIC) and b"run_uuid" in candidate.head


@reader(id="mlflow-database", files=("*.db", "*.sqlite", "*.sqlite3"), recognizes=_is_mlflow_database)
def read_database(path: str) -> Iterator[RunData]:
    """Every run, named experiment/run. Runs that were deleted in MLflow are left out."""
    try:
        with sqlite_file.opened(path, tables=("experiments", "runs", "metrics", "params")) as database:
            yield from _runs(database)
    except sqlite_file.ERRORS as error:
        yield RunData({}, notes=[sqlite_file.note_on(error, path)])


def _runs(database: sqlite3.Connection) -> Iterator[RunData]:
    experiments = dict(database.execute("select experiment_id, name from experiments"))
    runs = [
        (id, f"{experiments.get(experiment, experiment)}/{name or id}")
        for id, name, experiment in database.execute(
            "select run_uuid, name, experiment_id from runs where lifecycle_stage is not 'deleted' order by start_time"
        ).fetchall()
    ]
    name_counts = Counter(name for _, name in runs)
    for id, name in runs:
        builder = SeriesBuilder()
        rows = database.execute(
            "select key, value, timestamp, step, is_nan from metrics where run_uuid = ? order by rowid",
            (id,),
        )
        for tag, value, timestamp_millisecs, step, is_nan in rows:
            if isinstance(step, int) and isinstance(timestamp_millisecs, int | float):
                builder.add(str(tag), step=step, value=_number(value, is_nan), wall_time=timestamp_millisecs / 1e3)
        config: dict[str, Any] = dict(database.execute("select key, value from params where run_uuid = ?", (id,)))
        yield RunData(builder.series(), name=f"{name} {id}" if name_counts[name] > 1 else name, config=config)


def _number(value: Any, is_nan: Any) -> float:
    if is_nan or not isinstance(value, int | float):
        return math.nan
    # MLflow stores infinities as the largest number that fits the column.
    return math.copysign(math.inf, value) if abs(value) >= sys.float_info.max else float(value)
