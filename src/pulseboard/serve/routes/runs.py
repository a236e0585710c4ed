"""The runs, their tags and their restarts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pulseboard.serve import patterns, schema
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint

if TYPE_CHECKING:
    from pulseboard.store.query import RunSummary

PATTERN = schema.text("a regular expression", most=patterns.MOST_LENGTH)
RUN = schema.text("a run's name or alias")
TAG = schema.text("a tag")
SOME_RUNS = schema.several(RUN, "runs by name or alias", most=20_000)


@endpoint("GET", "runs", "The runs, the most recently active first.", query={"filter": PATTERN})
def runs(board: Board, ask: Ask) -> dict[str, Any]:
    ask.same_since(board.journal.revision, board.loading, board.live_at())
    chosen = board.store.runs()
    if ask["filter"]:
        pattern = patterns.Pattern(ask["filter"])
        chosen = [run for run in chosen if any(pattern.search(name) for name in (run.name, *run.aliases))]
    marks = board.marks_by_run()
    return {"revision": board.journal.revision, "runs": [_record(board, run, marks.get(run.name)) for run in chosen]}


def _record(board: Board, run: RunSummary, marks: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "name": run.name,
        "aliases": run.aliases,
        "directory": run.directory,
        "started": None if math.isnan(run.started) else run.started,
        "ended": None if math.isnan(run.ended) else run.ended,
        "last_step": run.last_step,
        "points": run.points,
        "tags": run.tags,
        "kinds": run.kinds,
        "ranks": run.ranks,
        "restarts": run.restarts,
        "live": run.live,
        "status": board.diagnosis.status(run.name),
        "marks": marks,
    }


@endpoint(
    "GET",
    "tags",
    "The tags of runs, in order of name.",
    query={
        "kind": schema.text("scalar, histogram, image, audio, text, …", most=100),
        "run": {**SOME_RUNS, "description": "only of these runs; none: of all"},
        "filter": PATTERN,
        "names": schema.flag("the names of the runs, in place of their number", default=False),
    },
)
def tags(board: Board, ask: Ask) -> dict[str, Any]:
    chosen = board.runs(ask["run"])
    ask.same_since(board.state_of(chosen))
    found = board.store.tags(None if ask["run"] is None else chosen, ask["kind"])
    if ask["filter"]:
        pattern = patterns.Pattern(ask["filter"])
        found = [tag for tag in found if pattern.search(tag.tag)]
    return {
        "revision": board.journal.revision,
        "tags": [
            {"tag": tag.tag, "kinds": tag.kinds, "runs": tag.runs if ask["names"] else len(tag.runs)} for tag in found
        ],
    }


@endpoint("GET", "restarts", "Where a run was started again.", query={"run": RUN}, required=("run",))
def restarts(board: Board, ask: Ask) -> dict[str, Any]:
    found = board.run(ask["run"]).restarts()
    return {"restarts": [{"step": restart.step, "wall_time": restart.wall_time} for restart in found]}
