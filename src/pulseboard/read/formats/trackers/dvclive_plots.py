"""DVCLive's `plots/metrics/`: one tab-separated file per metric, with a step and a value per row."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.csv_table import CsvTable
from pulseboard.read.parsing.table_runs import runs_of_table
from pulseboard.rundir.regular_file import open_regular


def _files(directory: str) -> Iterator[str]:
    for parent, subdirectories, names in os.walk(directory):
        subdirectories.sort()
        yield from (os.path.join(parent, name) for name in sorted(names) if name.endswith(".tsv"))


def _is_dvclive(candidate: Candidate) -> bool:
    if not candidate.is_directory or os.path.basename(os.path.dirname(candidate.path)) != "plots":
        return False
    for path in _files(candidate.path):
        with open_regular(path) as stream:
            header = stream.read(4096).split(b"\n")[0].split(b"\t")
        return b"step" in header
    return False


def _live_directory(path: str) -> str:
    return os.path.dirname(os.path.dirname(path))


@reader(id="dvclive", files=("metrics/",), recognizes=_is_dvclive, training_directory=_live_directory)
def read_dvclive(path: str) -> Iterator[RunData]:
    """One run, named after the directory of DVCLive."""
    series: dict[str, Series] = {}
    notes: list[Note] = []
    for file in _files(path):
        tag = os.path.relpath(file, path).replace(os.sep, "/").removesuffix(".tsv")
        table = CsvTable(file)
        for data in runs_of_table(table.columns(), table.row_count, path=file, notes=table.notes()):
            found = list(data.series.values())
            if found and tag not in series:
                one = found[-1]
                series[tag] = Series(tag, one.steps, one.wall_times, one.values, one.orphaned)
            notes += data.notes
    yield RunData(series, notes=notes, axis=AxisInfo("step", ("step",)))
