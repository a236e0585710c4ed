"""CatBoost's `catboost_info/`: a tab-separated file of errors for the training data, and one for the test data."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.csv_table import CsvTable
from pulseboard.read.parsing.table_runs import runs_of_table

_FILES = {"learn_error.tsv": "learn", "test_error.tsv": "test"}


def _is_catboost(candidate: Candidate) -> bool:
    return candidate.is_directory and any(os.path.isfile(os.path.join(candidate.path, name)) for name in _FILES)


@reader(id="catboost", files=("catboost_info*/",), recognizes=_is_catboost)
def read_catboost(path: str) -> Iterator[RunData]:
    """One run, with the metrics as learn/ and test/, by tree."""
    series: dict[str, Series] = {}
    notes: list[Note] = []
    for name, split in _FILES.items():
        file = os.path.join(path, name)
        if not os.path.isfile(file):
            continue
        table = CsvTable(file)
        for data in runs_of_table(table.columns(), table.row_count, path=file, notes=table.notes()):
            notes += data.notes
            for tag, one in data.series.items():
                renamed = f"{split}/{tag}"
                series.setdefault(renamed, Series(renamed, one.steps, one.wall_times, one.values, one.orphaned))
    yield RunData(series, notes=notes, axis=AxisInfo("step", ("iter",), note="Steps are trees."))
