"""Findings: the report of runs, the page of a finding, and what a tag means."""

from __future__ import annotations

from typing import Any

from pulseboard.serve import schema
from pulseboard.serve.answers import Answer, json_answer
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.errors import NotFound
from pulseboard.serve.markdown import to_html
from pulseboard.serve.routes.runs import SOME_RUNS, TAG


@endpoint(
    "GET",
    "diagnosis",
    "The report of `pulseboard diagnose --json`; `pending` names the runs that are still being read.",
    query={"run": {**SOME_RUNS, "description": "only of these runs; none: of all"}},
)
def diagnosis(board: Board, ask: Ask) -> dict[str, Any]:
    return board.diagnosis.report(board.runs(ask["run"]))


@endpoint(
    "GET", "guide", "The page of a finding.", query={"slug": schema.text(most=200, minLength=1)}, required=("slug",)
)
def guide(board: Board, ask: Ask) -> dict[str, Any]:
    found = board.diagnosis.guide(ask["slug"])
    if found is None:
        raise NotFound("There is no guide of this name.", do="`pulseboard explain` lists them.")
    title, text = found
    return {"slug": ask["slug"], "title": title, "html": to_html(text)}


@endpoint("GET", "meaning", "What a tag stands for, and what is healthy for it.", query={"tag": TAG}, required=("tag",))
def meaning(board: Board, ask: Ask) -> Answer:
    found = board.diagnosis.meaning(ask["tag"])
    return json_answer(found)
