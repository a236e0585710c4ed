"""Stable-baselines3's `monitor.csv`: a line of JSON, then one row per episode: reward, length, seconds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pulseboard.read.axis.build import Axis, Column
from pulseboard.read.axis.restarts import Restarts
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.csv_table import CsvTable, header_of
from pulseboard.read.parsing.growing import following
from pulseboard.read.parsing.table_runs import runs_of_table
from pulseboard.read.parsing.text import lines_of

_TAGS = {"r": "episode/reward", "l": "episode/length"}
_NOTE = "Steps are the sum of the lengths of the episodes so far."


def _is_monitor(candidate: Candidate) -> bool:
    first = candidate.lines[0] if candidate.lines else ""
    return first.startswith("#{") and "t_start" in first and {"r", "l", "t"} <= set(header_of(candidate.lines[:2]))


def _runs_of(table: CsvTable) -> Iterator[RunData]:
    columns = table.columns()
    lengths = np.zeros(table.row_count)
    if "l" in columns:
        finite = np.isfinite(columns["l"].values)
        lengths[columns["l"].rows[finite]] = np.clip(columns["l"].values[finite], 0, 1e12)
    steps = np.cumsum(lengths).astype(np.int64)
    axis = Axis("step", ("l",), steps, Restarts.none(table.row_count), note=_NOTE)
    named = {_TAGS.get(name, name): column for name, column in columns.items() if name != "t"}
    begin = _began(table.path)
    if begin is not None and "t" in columns:
        named["wall_time"] = Column(columns["t"].rows, columns["t"].values + begin)
    yield from runs_of_table(
        named, table.row_count, path=table.path, notes=table.notes(), axis=replace(axis, columns=())
    )


def _began(path: str) -> float | None:
    first = next(iter(lines_of(path)), None)
    try:
        return float(json.loads(first.text[1:])["t_start"]) if first else None
    except (ValueError, KeyError, TypeError):
        return None


@reader(
    id="sb3-monitor",
    files=("*monitor.csv",),
    recognizes=_is_monitor,
    follow=following(CsvTable, _runs_of),
)
def read_monitor(path: str) -> Iterator[RunData]:
    """One run: the reward and the length of every episode, at the step where it ended."""
    yield from _runs_of(CsvTable(path))
