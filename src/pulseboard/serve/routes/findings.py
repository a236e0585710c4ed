"""Findings: the report of runs, the page of a finding, and what a tag means."""

from __future__ import annotations

from typing import Any

from pulseboard.serve import schema
from pulseboard.serve.answers import Answer, json_answer
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.errors import NotFound
from pulseboard.serve.markdown import to_html
from pulseboard.serve.routes.runs import NAMES, SOME_RUNS, STATUS, TAG

_WORDS = schema.several(schema.text(most=1_000_000), most=100_000)
_STEP = schema.or_null(schema.whole(least=-(2**63), most=2**63))
_SPELLED = schema.or_null(schema.spelled_number())
_EVIDENCE = schema.answer(
    "Evidence",
    {"metric": schema.text(), "what": schema.text(), "value": _SPELLED, "limit": _SPELLED, "step": _STEP},
)
_FINDING = schema.answer(
    "Finding",
    {
        "slug": schema.text(),
        "severity": schema.choice("info", "warning", "critical"),
        "metric": schema.or_null(schema.text()),
        "first_step": _STEP,
        "last_step": _STEP,
        "summary": schema.text(),
        "evidence": schema.several(_EVIDENCE, most=1000),
        "causes": _WORDS,
        "checks": _WORDS,
        "fixes": _WORDS,
    },
)
_CAUSE = schema.answer(
    "Cause",
    {
        "slug": schema.text(),
        "probability": schema.number(),
        "because": _WORDS,
        "against": _WORDS,
        "fixes": _WORDS,
    },
)
_NOT_CHECKED = schema.answer("NotChecked", {"slug": schema.text(), "because": schema.text(), "log": schema.text()})
_RUN_REPORT = schema.answer(
    "RunReport",
    {
        "run": schema.text(),
        "path": schema.text(),
        "status": STATUS,
        "steps": schema.or_null(
            schema.several(schema.whole(least=-(2**63), most=2**63), "the first and the last", most=2, minItems=2)
        ),
        "profile": schema.text(),
        "roles": schema.by_name(schema.text()),
        "doubtful": _WORDS,
        "findings": schema.several(_FINDING, most=100_000),
        "causes": schema.several(_CAUSE, most=1000),
        "next_check": schema.or_null(schema.answer("NextCheck", {"do": schema.text(), "why": schema.text()})),
        "not_checked": schema.several(_NOT_CHECKED, most=1000),
    },
)
_REPORT = schema.answer(
    "Report", {"schema": schema.whole(), "runs": schema.several(_RUN_REPORT, most=1_000_000), "pending": NAMES}
)
_EDGE = schema.or_null(schema.number("null: open on this side"))
_BAND = schema.answer("Band", {"kind": schema.choice("healthy", "warning", "critical"), "from": _EDGE, "to": _EDGE})
_SAID = schema.or_null(schema.text())
_MEANING = schema.answer(
    "Meaning",
    {
        "role": _SAID,
        "meaning": _SAID,
        "expected": _SAID,
        "unit": _SAID,
        "warning_signs": _WORDS,
        "bands": schema.several(_BAND, most=1000),
        "profile": _SAID,
    },
)
_GUIDE = schema.answer("Guide", {"slug": schema.text(), "title": schema.text(), "html": schema.text(most=10_000_000)})


@endpoint(
    "GET",
    "diagnosis",
    "The report of `pulseboard diagnose --json`; `pending` names the runs that are still being read.",
    query={"run": {**SOME_RUNS, "description": "only of these runs; none: of all"}},
    gives=_REPORT,
)
def diagnosis(board: Board, ask: Ask) -> dict[str, Any]:
    return board.diagnosis.report(board.runs(ask["run"]))


@endpoint(
    "GET",
    "guide",
    "The page of a finding.",
    query={"slug": schema.text(most=200, minLength=1)},
    required=("slug",),
    gives=_GUIDE,
)
def guide(board: Board, ask: Ask) -> dict[str, Any]:
    found = board.diagnosis.guide(ask["slug"])
    if found is None:
        raise NotFound("There is no guide of this name.", do="`pulseboard explain` lists them.")
    title, text = found
    return {"slug": ask["slug"], "title": title, "html": to_html(text)}


@endpoint(
    "GET",
    "meaning",
    "What a tag stands for, and what is healthy for it.",
    query={"tag": TAG},
    required=("tag",),
    gives=schema.or_null(_MEANING),
)
def meaning(board: Board, ask: Ask) -> Answer:
    found = board.diagnosis.meaning(ask["tag"])
    return json_answer(found)
