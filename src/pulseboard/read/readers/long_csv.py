"""The table that `pulseboard export` writes: a row a point, with its run and its tag."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.read.points import Points, number, step_of
from pulseboard.read.reader import History, Opening, reader
from pulseboard.read.readers.csv_history import header_of
from pulseboard.read.text import lines_of

_HEADER = ["run", "tag", "step", "wall_time", "value"]


def _is_export(opening: Opening) -> bool:
    return header_of(opening.lines[:1]) == _HEADER


@reader(id="long-csv", files=("*.csv",), sees=_is_export)
def read_export(path: str) -> Iterator[History]:
    """Every run of the table."""
    runs: dict[str, Points] = {}
    bad = 0
    whole = True

    def texts() -> Iterator[str]:
        nonlocal whole
        for line in lines_of(path):
            whole = line.whole
            yield line.text + "\n" if line.whole else line.text

    cells = csv.reader(texts())
    while True:
        try:
            row = next(cells)
        except StopIteration:
            break
        except csv.Error:
            bad += 1
            continue
        if row == _HEADER or not row or not whole:
            continue
        step = step_of(number(row[2])) if len(row) == len(_HEADER) else None
        value = number(row[4]) if len(row) == len(_HEADER) else None
        if step is None or value is None:
            bad += 1
            continue
        wall = number(row[3])
        points = runs.setdefault(row[0], Points())
        points.add(row[1], step=step, value=value, wall_time=math.nan if wall is None else wall)
    notes = [Note("damage", f"Left out {bad} rows that are no points.", path)] if bad else []
    if not whole:
        notes.append(Note("info", "The last line is not whole and was left out.", path))
    for name, points in runs.items():
        yield History(points.series(), name=name if len(runs) > 1 else "", notes=notes)
        notes = []
