"""The runs, their tags and their restarts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pulseboard.serve import patterns, schema
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.marks import MARKS

if TYPE_CHECKING:
    from pulseboard.store.query import RunSummary

PATTERN = schema.text("a regular expression", most=patterns.MOST_LENGTH)
RUN = schema.text("a run's name or alias")
TAG = schema.text("a tag")
SOME_RUNS = schema.several(RUN, "runs by name or alias", most=20_000)
NAMES = schema.several(schema.text(), most=1_000_000)
STATUS = schema.choice("ok", "info", "warning", "critical")
RUN_SUMMARY = schema.answer(
    "RunSummary",
    {
        "name": schema.text(),
        "aliases": NAMES,
        "directory": schema.text(),
        "started": schema.or_null(schema.number("seconds since 1970 of the first record; null where there is none")),
        "ended": schema.or_null(schema.number("seconds since 1970 of the newest record; null where there is none")),
        "last_step": schema.or_null(schema.whole(least=-(2**63), most=2**63)),
        "points": schema.whole(),
        "tags": schema.whole(),
        "kinds": NAMES,
        "ranks": schema.several(schema.whole(), most=1_000_000),
        "restarts": schema.whole(),
        "live": schema.flag("something was written within the last minutes"),
        "has_modules": schema.flag("api/modules has a model's modules"),
        "status": schema.or_null(STATUS),
        "marks": schema.or_null(MARKS),
    },
)
TAG_SUMMARY = schema.answer(
    "TagSummary",
    {
        "tag": schema.text(),
        "kinds": NAMES,
        "runs": schema.either(schema.whole("how many"), NAMES),
    },
)


def listed(of: str, items: schema.Schema, *, most: int = 1_000_000) -> dict[str, Any]:
    """A list, and the revision at which it was true."""
    fields = {"revision": schema.whole(), of: schema.several(items, most=most)}
    return schema.record(fields, required=tuple(fields))


@endpoint(
    "GET",
    "runs",
    "The runs, the most recently active first.",
    query={"filter": PATTERN},
    gives=listed("runs", RUN_SUMMARY),
)
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
        "has_modules": run.has_modules,
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
    gives=listed("tags", TAG_SUMMARY),
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


RESTART = schema.answer("Restart", {"step": schema.whole(least=-(2**63), most=2**63), "wall_time": schema.number()})


@endpoint(
    "GET",
    "restarts",
    "Where a run was started again.",
    query={"run": RUN},
    required=("run",),
    gives=schema.record({"restarts": schema.several(RESTART, most=1_000_000)}, required=("restarts",)),
)
def restarts(board: Board, ask: Ask) -> dict[str, Any]:
    found = board.run(ask["run"]).restarts()
    return {"restarts": [{"step": restart.step, "wall_time": restart.wall_time} for restart in found]}
