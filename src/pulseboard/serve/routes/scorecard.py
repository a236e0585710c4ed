"""Scorecards: the guide of a profile, filled in for a run."""

from __future__ import annotations

from typing import Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import BadRequest
from pulseboard.serve.http.parameters import RUN, STEP
from pulseboard.serve.http.responses import Response, json_response
from pulseboard.serve.live.dashboard import Dashboard

_TEXTS = schema.array(schema.string(max_length=1_000_000), max_items=100_000)
_NUMBER = schema.nullable(schema.number_or_nan())
_GRADE = schema.nullable(schema.choice("ok", "info", "warning", "critical"))
_REPLY = schema.choice("yes", "no", "measured", "not enough data", "not logged", "look yourself")
_METRIC = schema.named_record(
    "GuideMetric",
    {
        "tag": schema.string(),
        "meaning": schema.string(),
        "unit": schema.string(),
        "value": _NUMBER,
        "step": schema.nullable(STEP),
        "expected": schema.string(),
        "limits": _TEXTS,
        "stage": schema.string(),
        "verdict": schema.string(),
        "grade": _GRADE,
        "signs": _TEXTS,
        "notes": _TEXTS,
    },
)
_CELL = schema.named_record(
    "GuideCell",
    {
        "when": schema.string(),
        "step": STEP,
        "document": schema.string(),
        "value": _NUMBER,
        "verdict": schema.choice("inside", "below", "above", "not reached", "not logged", "other model"),
    },
)
_STAGE = schema.named_record(
    "GuideStages", {"tag": schema.string(), "cells": schema.array(_CELL, max_items=1000), "notes": _TEXTS}
)
_ANSWER = schema.named_record(
    "GuideAnswer",
    {
        "ask": schema.string(),
        "tag": schema.string(),
        "measure": schema.string(),
        "value": _NUMBER,
        "limit": _NUMBER,
        "reply": _REPLY,
        "bad": schema.boolean("not the answer of a good run"),
        "grade": _GRADE,
        "then": schema.string(),
        "section": schema.string(),
        "notes": _TEXTS,
    },
)
_ANSWERS = schema.array(_ANSWER, max_items=1000)
_BRANCH = schema.named_record(
    "GuideBranch",
    {
        "question": schema.string(),
        "applies": _REPLY,
        "because": _ANSWERS,
        "checks": _ANSWERS,
        "action": schema.string(),
    },
)
_PATTERN = schema.named_record(
    "GuidePattern",
    {
        "name": schema.string(),
        "matches": schema.boolean(),
        "because": _TEXTS,
        "cause": schema.string(),
        "check": _TEXTS,
        "fix": _TEXTS,
    },
)
_CADENCE = schema.named_record(
    "GuideCadence",
    {
        "category": schema.string(),
        "asked": schema.string(),
        "tags": schema.integer("how many are logged"),
        "every_steps": _NUMBER,
        "verdict": schema.choice("as asked", "more often", "less often", "not logged", "logged"),
        "note": schema.string(),
    },
)
_SCORECARD = schema.named_record(
    "Scorecard",
    {
        "run": schema.string(),
        "path": schema.string(),
        "profile": schema.string(),
        "title": schema.string(),
        "status": schema.choice("ok", "info", "warning", "critical", "unknown"),
        "steps": schema.nullable(schema.array(STEP, "the first and the last", max_items=2, min_items=2)),
        "progress": _NUMBER,
        "metrics": schema.array(_METRIC, max_items=100_000),
        "stages": schema.array(_STAGE, max_items=1000),
        "checks": _ANSWERS,
        "flow": schema.array(_BRANCH, max_items=1000),
        "patterns": schema.array(_PATTERN, max_items=1000),
        "cadence": schema.array(_CADENCE, max_items=1000),
        "missing": _TEXTS,
        "advice": _TEXTS,
    },
)


@endpoint(
    "GET",
    "scorecard",
    "The guide of a profile filled in for a run, as `pulseboard guide --json` has it; null if no guide fits the run.",
    query={"run": RUN, "profile": schema.string("a shipped profile; chosen by the run's tags if missing")},
    required=("run",),
    returns=schema.nullable(_SCORECARD),
)
def scorecard(dashboard: Dashboard, request: ApiRequest) -> Response:
    from pulseboard.diagnose.profile import shipped
    from pulseboard.diagnose.scorecard.scorecard import NoDocument

    profile = request["profile"]
    # A path would let clients read files of the server.
    if profile is not None and profile not in shipped():
        raise BadRequest(f"No profile {profile[:100]!r}.", do=f"Profiles: {', '.join(shipped())}.")
    run = dashboard.run(request["run"])
    try:
        return json_response(dashboard.diagnosis.scorecard(run.name, profile=profile))
    except NoDocument:
        return json_response(None)


@endpoint(
    "GET",
    "profiles",
    "The profiles that hold a guide.",
    returns=schema.named_record(
        "GuideProfiles",
        {
            "profiles": schema.array(
                schema.named_record("GuideProfile", {"name": schema.string(), "title": schema.string()}), max_items=1000
            )
        },
    ),
)
def profiles(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    from pulseboard.diagnose.profile import GENERAL, load_profile, shipped

    found = [load_profile(name) for name in shipped() if name != GENERAL]
    return {"profiles": [{"name": profile.name, "title": profile.title} for profile in found]}
