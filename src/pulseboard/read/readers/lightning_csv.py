"""Lightning's CSVLogger: `metrics.csv` with a row a logged step, and `hparams.yaml` beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pulseboard.read.reader import History, Opening, reader
from pulseboard.read.readers.csv_history import header_of, rows_of
from pulseboard.read.yaml_file import yaml_mapping


def _is_lightnings(opening: Opening) -> bool:
    names = header_of(opening.lines[:2])
    return "step" in names and len(names) > 1


@reader(id="lightning-csv", files=("metrics.csv",), sees=_is_lightnings, names_directory=True)
def read_metrics_csv(path: str) -> Iterator[History]:
    """One run, named for the version's directory. The epoch stays a tag, as in Lightning's event files."""
    rows, notes = rows_of(path)
    config, wrong = yaml_mapping(os.path.join(os.path.dirname(path), "hparams.yaml"))
    yield History(rows.series(steps=("step",)), config=config, notes=notes + wrong)
