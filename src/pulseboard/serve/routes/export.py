"""Exports: the points of runs and tags as a file, streamed while it is made."""

from __future__ import annotations

from pulseboard.serve import exporting, patterns, schema
from pulseboard.serve.answers import Streamed
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.routes.runs import PATTERN, SOME_RUNS, TAG


@endpoint(
    "GET",
    "export",
    "The points of runs and tags as CSV, JSON or Parquet.",
    query={
        "format": schema.choice(*exporting.MEDIA_TYPES, default="csv"),
        "run": {**SOME_RUNS, "description": "none: all runs"},
        "tag": schema.several(TAG, "none: all scalars", most=10_000),
        "filter": {**PATTERN, "description": "only tags that match this regular expression"},
        "orphans": schema.flag("also what a restart took the place of", default=False),
    },
    media_type="text/csv",
)
def export(board: Board, ask: Ask) -> Streamed:
    wanted = None if ask["tag"] is None else set(ask["tag"])
    pattern = patterns.Pattern(ask["filter"]) if ask["filter"] else None
    picked = []
    for name in board.runs(ask["run"]):
        # What other ranks logged for themselves goes by their own names, such as exp/ranks/1.
        for run in board.run(name).ranks.values():
            tags = [tag for tag in run.tags("scalar") if wanted is None or tag in wanted]
            picked.append((run, tags if pattern is None else pattern.filter(tags)))
    return exporting.streamed(picked, form=ask["format"], orphans=ask["orphans"])
