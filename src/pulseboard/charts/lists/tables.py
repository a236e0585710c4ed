"""Tables: runs with their hyperparameters, config and summaries of their metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pulseboard.charts.lists.settings import Settings
from pulseboard.charts.query import BadQuery
from pulseboard.charts.results import RunTable, ScalarSummary, TableRow
from pulseboard.core.cancellation import checkpoint
from pulseboard.core.tag_names import better_end
from pulseboard.read.run import Run

Extremes = tuple[float, int, float, int, float, int]
"""The last value and its step, the smallest and its step, the largest and its step."""


def table(
    runs: Sequence[Run],
    metrics: Sequence[str],
    *,
    extremes_of: Callable[[Run, str], Extremes | None],
    settings: Settings,
    better: Mapping[str, str],
) -> RunTable:
    """One row per run. Metrics that a run lacks are left out of its row."""
    for tag, end in better.items():
        if end not in ("min", "max"):
            raise BadQuery(f"The better end of {tag!r} is {end!r}; use min or max.")
    ends: dict[str, Literal["min", "max"]] = {
        tag: "min" if (better.get(tag) or better_end(tag)) == "min" else "max" for tag in metrics
    }
    rows = []
    for run in runs:
        checkpoint()
        summaries = {tag: _summary(found, end) for tag, end in ends.items() if (found := extremes_of(run, tag))}
        rows.append(TableRow(run.name, settings.hparams(run), settings.config(run), summaries))
    return RunTable(
        hparams=tuple(dict.fromkeys(name for row in rows for name in row.hparams)),
        config=tuple(dict.fromkeys(name for row in rows for name in row.config)),
        metrics=tuple(ends),
        rows=tuple(rows),
    )


def _summary(extremes: Extremes, better: Literal["min", "max"]) -> ScalarSummary:
    last, last_step, low, low_step, high, high_step = extremes
    best, best_step = (low, low_step) if better == "min" else (high, high_step)
    return ScalarSummary(last, last_step, low, low_step, high, high_step, best, best_step, better)
