"""Neptune's export: Parquet files with one row per point or attribute. Needs pyarrow.

neptune-exporter writes `<project>/<run>_part_0.parquet`, `<run>_part_1.parquet`, …: the parts of one run. Earlier
versions wrote `<project>/<run>/part_0.parquet`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pulseboard.core.note import Note
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.parsing.series_builder import SeriesBuilder
from pulseboard.rundir.regular_file import open_regular

# Columns of `neptune-exporter`.
_NEEDED = ("attribute_path", "step", "float_value")
_RUN_NAMES = ("run_id", "sys/id", "run")
_VALUES = ("float_value", "int_value", "string_value", "bool_value")
_PART = re.compile(r"(?P<run>.+_)?part_(?P<number>\d{1,9})\.parquet")
_FIRST_PART = "part_0.parquet"


def _is_neptune(candidate: Candidate) -> bool:
    directory, name = os.path.split(candidate.path)
    if found := _PART.fullmatch(name):
        first = (found["run"] or "") + _FIRST_PART
        if name != first and os.path.exists(os.path.join(directory, first)):
            return False  # read with the first part
    return candidate.head.startswith(b"PAR1") and all(
        name in _tail(candidate.path) for name in map(str.encode, _NEEDED)
    )


def _tail(path: str) -> bytes:
    """The end of the file, where Parquet keeps the names of the columns."""
    with open_regular(path) as stream:
        stream.seek(0, 2)
        stream.seek(max(0, stream.tell() - (1 << 20)))
        return stream.read()


@reader(id="neptune-parquet", files=("*.parquet",), recognizes=_is_neptune)
def read_table(path: str) -> Iterator[RunData]:
    """Every run in a table that someone put together, or one run from the first of its parts and the others."""
    yield from _runs_in(path, _parts_of(path))


def _is_first_part(candidate: Candidate) -> bool:
    return os.path.basename(candidate.path) == _FIRST_PART and _is_neptune(candidate)


@reader(id="neptune-export", files=(_FIRST_PART,), recognizes=_is_first_part, named_after_directory=True)
def read_parts(path: str) -> Iterator[RunData]:
    """One run, from this file and the other parts next to it."""
    yield from _runs_in(path, _parts_of(path))


def _parts_of(path: str) -> list[str]:
    """A file and the parts of its run that follow it."""
    directory, name = os.path.split(path)
    first = _PART.fullmatch(name)
    if first is None or not name.endswith(_FIRST_PART):
        return [path]
    found = (_PART.fullmatch(one) for one in os.listdir(directory))
    numbers = [int(one["number"]) for one in found if one is not None and one["run"] == first["run"]]
    return [os.path.join(directory, f"{first['run'] or ''}part_{number}.parquet") for number in sorted(numbers)]


def _runs_in(path: str, parts: list[str]) -> Iterator[RunData]:
    """Float series, and single values as the configuration."""
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        what = "Parquet files need pyarrow: install it with `pip install pyarrow`."
        yield RunData({}, notes=[Note("unreadable", what, path)])
        return
    runs: dict[str, _Run] = {}
    notes: list[Note] = []
    for part in parts:
        try:
            with open_regular(part) as stream:
                file = parquet.ParquetFile(stream)
                wanted = (*_RUN_NAMES, *_NEEDED, *_VALUES, "timestamp")
                names = [name for name in dict.fromkeys(wanted) if name in file.schema_arrow.names]
                for batch in file.iter_batches(columns=names):
                    for row in batch.to_pylist():
                        name = next((str(row[name]) for name in _RUN_NAMES if row.get(name) is not None), "")
                        runs.setdefault(name, _Run()).add(row)
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            notes.append(Note("damage", f"The file cannot be read: {error}.", part))
    if not runs and notes:
        yield RunData({}, notes=notes)
    for name, run in runs.items():
        yield RunData(run.builder.series(), name=name if len(runs) > 1 else "", config=run.config, notes=notes)
        notes = []


class _Run:
    """What is known of a run after some rows."""

    def __init__(self) -> None:
        self.builder = SeriesBuilder()
        self.config: dict[str, Any] = {}

    def add(self, row: dict[str, Any]) -> None:
        """A point if the row has a step, else a value of the configuration. Steps are decimals."""
        step, tag = row.get("step"), row.get("attribute_path")
        value = next((row[name] for name in _VALUES if row.get(name) is not None), None)
        if tag is None or value is None:
            return
        if step is None:
            self.config[str(tag)] = value
        elif isinstance(value, int | float) and math.isfinite(float(step)):
            time = row.get("timestamp")
            wall_time = time.timestamp() if isinstance(time, datetime) else math.nan
            self.builder.add(str(tag), step=int(step), value=float(value), wall_time=wall_time)
