"""Lightning's CSVLogger: `metrics.csv` with one row per logged step, and `hparams.yaml` next to it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.csv_table import CsvTable, header_of
from pulseboard.read.parsing.growing import following
from pulseboard.read.parsing.yaml_file import yaml_mapping


def _is_lightning_csv(candidate: Candidate) -> bool:
    names = header_of(candidate.lines[:2])
    return "step" in names and len(names) > 1


def _runs_of(table: CsvTable) -> Iterator[RunData]:
    config, config_notes = yaml_mapping(os.path.join(os.path.dirname(table.path), "hparams.yaml"))
    yield from table.runs(config=config, notes=config_notes)


@reader(
    id="lightning-csv",
    files=("metrics.csv",),
    recognizes=_is_lightning_csv,
    named_after_directory=True,
    follow=following(CsvTable, _runs_of),
)
def read_metrics_csv(path: str) -> Iterator[RunData]:
    """One run, named after the directory of its version. The epoch is a tag, as in Lightning's event files."""
    yield from _runs_of(CsvTable(path))
