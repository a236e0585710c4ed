"""Findings: reports on runs, the guide of a finding, and the meaning of a tag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import NotFound
from pulseboard.serve.http.parameters import NAMES, RUN_FILTER, STATUS, STEP, TAG
from pulseboard.serve.http.responses import Response, json_response
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.security.markdown import to_html

_TEXTS = schema.array(schema.string(max_length=1_000_000), max_items=100_000)
_OPTIONAL_TEXT = schema.nullable(schema.string())
_OPTIONAL_STEP = schema.nullable(STEP)
_OPTIONAL_NUMBER = schema.nullable(schema.number_or_nan())
_SEVERITY = schema.choice("info", "warning", "critical")
_EVIDENCE = schema.named_record(
    "Evidence",
    {
        "metric": schema.string(),
        "what": schema.string(),
        "value": _OPTIONAL_NUMBER,
        "limit": _OPTIONAL_NUMBER,
        "step": _OPTIONAL_STEP,
        "on_curve": schema.boolean("the value and the limit are values of the metric"),
    },
)
_FINDING = schema.named_record(
    "Finding",
    {
        "slug": schema.string(),
        "severity": _SEVERITY,
        "metric": _OPTIONAL_TEXT,
        "first_step": _OPTIONAL_STEP,
        "last_step": _OPTIONAL_STEP,
        "summary": schema.string(),
        "evidence": schema.array(_EVIDENCE, max_items=1000),
        "causes": _TEXTS,
        "checks": _TEXTS,
        "fixes": _TEXTS,
    },
)
_CAUSE = schema.named_record(
    "Cause",
    {
        "slug": schema.string(),
        "probability": schema.number(),
        "because": _TEXTS,
        "against": _TEXTS,
        "fixes": _TEXTS,
        "signs": _TEXTS,
        "alike": _TEXTS,
    },
)
_NOT_CHECKED = schema.named_record(
    "NotChecked", {"slug": schema.string(), "because": schema.string(), "log": schema.string()}
)
_NEXT_CHECK = schema.nullable(schema.named_record("NextCheck", {"do": schema.string(), "why": schema.string()}))
_INCIDENT = schema.named_record(
    "Incident",
    {
        "id": schema.string(),
        "headline": schema.string(),
        "severity": _SEVERITY,
        "first_step": STEP,
        "last_step": STEP,
        "open": schema.boolean("whether it lasts to the end of the run"),
        "cost": schema.named_record("Cost", {"what": schema.string(), "value": schema.number()}),
        "findings": schema.array(
            schema.integer(), "indices into the report's findings, the leading one first", max_items=100_000
        ),
        "causes": schema.array(_CAUSE, max_items=1000),
        "next_check": _NEXT_CHECK,
        "fixes": _TEXTS,
    },
)
_COVERAGE = schema.named_record(
    "Coverage",
    {
        "ran": schema.integer("checks that ran"),
        "of": schema.integer("checks that exist"),
        "enable": schema.array(
            schema.named_record("Enable", {"log": schema.string(), "checks": schema.integer("checks this enables")}),
            max_items=1000,
        ),
    },
)
_FACT = schema.named_record(
    "Fact",
    {
        "value": schema.any_value("null: not known"),
        "confidence": schema.number(),
        "from": _TEXTS,
        "why": schema.string(),
    },
)
_READING = schema.named_record(
    "Reading",
    {"tag": schema.string(), "role": schema.string(), "sure": schema.number(), "why": schema.string()},
)
_RUN_REPORT = schema.named_record(
    "RunReport",
    {
        "run": schema.string(),
        "path": schema.string(),
        "status": STATUS,
        "steps": schema.nullable(schema.array(STEP, "the first and the last", max_items=2, min_items=2)),
        "profile": schema.string(),
        "roles": schema.mapping(schema.string()),
        "doubtful": _TEXTS,
        "findings": schema.array(_FINDING, max_items=100_000),
        "causes": schema.array(_CAUSE, max_items=1000),
        "next_check": _NEXT_CHECK,
        "not_checked": schema.array(_NOT_CHECKED, max_items=1000),
        "coverage": _COVERAGE,
        "incidents": schema.array(_INCIDENT, "problems, most severe first", max_items=1000),
        "facts": schema.mapping(_FACT, "what is known about the run"),
        "readings": schema.array(_READING, "how each tag was read", max_items=1_000_000),
        "unread": _TEXTS,
    },
)
_REPORT = schema.named_record(
    "Report",
    {"schema": schema.integer(), "runs": schema.array(_RUN_REPORT, max_items=1_000_000), "pending": NAMES},
)
_BAND_EDGE = schema.nullable(schema.number("null: no limit on this side"))
_BAND = schema.named_record(
    "Band", {"kind": schema.choice("healthy", "warning", "critical"), "from": _BAND_EDGE, "to": _BAND_EDGE}
)
_MEANING = schema.named_record(
    "Meaning",
    {
        "role": _OPTIONAL_TEXT,
        "meaning": _OPTIONAL_TEXT,
        "expected": _OPTIONAL_TEXT,
        "unit": _OPTIONAL_TEXT,
        "warning_signs": _TEXTS,
        "bands": schema.array(_BAND, max_items=1000),
        "profile": _OPTIONAL_TEXT,
    },
)
_GUIDE = schema.named_record(
    "Guide", {"slug": schema.string(), "title": schema.string(), "html": schema.string(max_length=10_000_000)}
)


@endpoint(
    "GET",
    "diagnosis",
    "The report of `pulseboard diagnose --json`; `pending` lists runs that are not diagnosed yet.",
    query={
        "run": RUN_FILTER,
        # They are four fifths of the report on hundreds of runs.
        "reasons": schema.boolean("say why each check did not run; otherwise `because` is empty", default=True),
    },
    returns=_REPORT,
)
def diagnosis(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    report = dashboard.diagnosis.report(dashboard.run_names(request["run"]))
    if request["reasons"]:
        return report
    return {**report, "runs": [_without_reasons(run) for run in report["runs"]]}


def _without_reasons(run: Mapping[str, Any]) -> dict[str, Any]:
    return {**run, "not_checked": [{**check, "because": ""} for check in run["not_checked"]]}


@endpoint(
    "GET",
    "guide",
    "The guide of a finding.",
    query={"slug": schema.string(max_length=200, min_length=1)},
    required=("slug",),
    returns=_GUIDE,
)
def guide(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    found = dashboard.diagnosis.guide(request["slug"])
    if found is None:
        raise NotFound("No such guide.", do="`pulseboard explain` lists all guides.")
    title, text = found
    return {"slug": request["slug"], "title": title, "html": to_html(text)}


@endpoint(
    "GET",
    "meaning",
    "What a tag measures, and which values are healthy.",
    lane="quick",
    query={"tag": TAG},
    required=("tag",),
    returns=schema.nullable(_MEANING),
)
def meaning(dashboard: Dashboard, request: ApiRequest) -> Response:
    return json_response(dashboard.diagnosis.meaning(request["tag"]))
