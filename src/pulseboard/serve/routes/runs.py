"""Runs, their tags and their restarts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.parameters import AXIS, NAMES, REGEX, RUN, RUN_FILTER, STATUS, STEP, list_with_revision
from pulseboard.serve.http.responses import finite
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.marks import MARKS
from pulseboard.serve.security.safe_regex import SafeRegex

if TYPE_CHECKING:
    from pulseboard.charts.results import RunSummary

_RUN_SUMMARY = schema.named_record(
    "RunSummary",
    {
        "name": schema.string(),
        "aliases": NAMES,
        "directory": schema.string(),
        "started": schema.nullable(schema.number("wall time of the first record; null if there is none")),
        "ended": schema.nullable(schema.number("wall time of the newest record; null if there is none")),
        "last_step": schema.nullable(STEP),
        "points": schema.integer(),
        "tags": schema.integer(),
        "kinds": NAMES,
        "ranks": schema.array(schema.integer(), max_items=1_000_000),
        "restarts": schema.integer(),
        "live": schema.boolean("running: written to within the last minutes, and not known to have ended"),
        "state": schema.nullable(
            schema.choice(
                *("running", "finished", "failed", "killed", "stalled"),
                description="stalled: run.json says it is running, but nothing was written for minutes; null: unknown",
            )
        ),
        "has_modules": schema.boolean("api/modules has the modules of its model"),
        "has_artifacts": schema.boolean("api/artifacts lists files that it kept"),
        "axis": AXIS,
        "fork": schema.nullable(
            schema.record(
                {"parent": schema.string("name of a run"), "step": STEP},
                "The run that this one was forked from, and the last step that it has of it.",
                required=("parent", "step"),
            )
        ),
        "status": schema.nullable(STATUS),
        "marks": schema.nullable(MARKS),
    },
    optional=("has_artifacts",),
)
_TAG_SUMMARY = schema.named_record(
    "TagSummary",
    {
        "tag": schema.string(),
        "kinds": NAMES,
        "runs": schema.either(schema.integer("number of runs"), NAMES),
    },
)


@endpoint(
    "GET",
    "runs",
    "All runs, most recently active first.",
    lane="quick",
    query={"filter": REGEX},
    returns=list_with_revision("runs", _RUN_SUMMARY),
)
def runs(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    request.revalidate(dashboard.revisions.current, dashboard.loading, dashboard.half_minute())
    found = dashboard.charts.run_summaries()
    if request["filter"]:
        regex = SafeRegex(request["filter"])
        found = [run for run in found if any(regex.search(name) for name in (run.name, *run.aliases))]
    marks = dashboard.marks_by_run()
    return {
        "revision": dashboard.revisions.current,
        "runs": [_run_summary(run, dashboard.diagnosis.status(run.name), marks.get(run.name)) for run in found],
    }


def _run_summary(run: RunSummary, status: str | None, marks: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "name": run.name,
        "aliases": run.aliases,
        "directory": run.directory,
        "started": run.started if math.isfinite(run.started) else None,
        "ended": run.ended if math.isfinite(run.ended) else None,
        "last_step": run.last_step,
        "points": run.points,
        "tags": run.tags,
        "kinds": run.kinds,
        "ranks": run.ranks,
        "restarts": run.restarts,
        "live": run.live,
        "state": run.state,
        "has_modules": run.has_modules,
        "has_artifacts": run.has_artifacts,
        "axis": run.axis.as_dict(),
        "fork": None if run.fork is None else {"parent": run.fork.parent, "step": run.fork.step},
        "status": status,
        "marks": marks,
    }


@endpoint(
    "GET",
    "tags",
    "The tags of runs, sorted by name.",
    lane="quick",
    query={
        "kind": schema.string("scalar, histogram, image, audio, text, …", max_length=100),
        "run": RUN_FILTER,
        "filter": REGEX,
        "names": schema.boolean("return the names of the runs instead of their number", default=False),
    },
    returns=list_with_revision("tags", _TAG_SUMMARY),
)
def tags(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    names = dashboard.run_names(request["run"])
    request.revalidate(dashboard.state_of(names))
    found = dashboard.charts.tag_summaries(None if request["run"] is None else names, request["kind"])
    if request["filter"]:
        regex = SafeRegex(request["filter"])
        found = [tag for tag in found if regex.search(tag.tag)]
    return {
        "revision": dashboard.revisions.current,
        "tags": [
            {"tag": tag.tag, "kinds": tag.kinds, "runs": tag.runs if request["names"] else len(tag.runs)}
            for tag in found
        ],
    }


_RESTART = schema.named_record("Restart", {"step": STEP, "wall_time": schema.number()})


@endpoint(
    "GET",
    "restarts",
    "The restarts of a run.",
    lane="quick",
    query={"run": RUN},
    required=("run",),
    returns=schema.record({"restarts": schema.array(_RESTART, max_items=1_000_000)}, required=("restarts",)),
)
def restarts(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    found = dashboard.run(request["run"]).restarts()
    return {"restarts": [{"step": restart.step, "wall_time": finite(restart.wall_time)} for restart in found]}
