"""The table that `pulseboard export` writes: one row per point, with its run and its tag."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.csv_table import header_of
from pulseboard.read.parsing.numbers import number, step_of
from pulseboard.read.parsing.series_builder import SeriesBuilder
from pulseboard.read.parsing.text import lines_of

_HEADER = ["run", "tag", "step", "wall_time", "value"]


def _is_export(candidate: Candidate) -> bool:
    return header_of(candidate.lines[:1]) == _HEADER


@reader(id="long-csv", files=("*.csv",), recognizes=_is_export)
def read_export(path: str) -> Iterator[RunData]:
    """Every run in the table."""
    builders: dict[str, SeriesBuilder] = {}
    bad = 0
    complete = True

    def texts() -> Iterator[str]:
        nonlocal complete
        for line in lines_of(path):
            complete = line.complete
            yield line.text + "\n" if line.complete else line.text

    rows = csv.reader(texts())
    while True:
        try:
            row = next(rows)
        except StopIteration:
            break
        except csv.Error:
            bad += 1
            continue
        if row == _HEADER or not row or not complete:
            continue
        step = step_of(number(row[2])) if len(row) == len(_HEADER) else None
        value = number(row[4]) if len(row) == len(_HEADER) else None
        if step is None or value is None:
            bad += 1
            continue
        wall_time = number(row[3])
        builder = builders.setdefault(row[0], SeriesBuilder())
        builder.add(row[1], step=step, value=value, wall_time=math.nan if wall_time is None else wall_time)
    notes = [Note("damage", f"Left out {plural(bad, 'row')} without a point.", path)] if bad else []
    if not complete:
        notes.append(Note("info", "The last line is incomplete and was left out.", path))
    for name, builder in builders.items():
        yield RunData(builder.series(), name=name if len(builders) > 1 else "", notes=notes)
        notes = []
