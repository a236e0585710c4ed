"""User marks on runs."""

from __future__ import annotations

from typing import Any

from pulseboard.serve import schema
from pulseboard.serve.answers import Answer, json_answer
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.marks import MARKS

BY_RUN = schema.record({"marks": schema.by_name(schema.or_null(MARKS), "by run", most=20_000)}, required=("marks",))


@endpoint(
    "GET",
    "marks",
    "The marks of every run that has any.",
    query={"download": schema.flag("as a file to keep", default=False)},
    gives=BY_RUN,
)
def marks(board: Board, ask: Ask) -> Answer:
    said = json_answer({"marks": board.marks_by_run()})
    if ask["download"]:
        said.headers["content-disposition"] = 'attachment; filename="pulseboard-marks.json"'
    return said


@endpoint("PUT", "marks", "Give runs marks; null takes them away.", body=BY_RUN, gives=BY_RUN, full_role=True)
def set_marks(board: Board, ask: Ask) -> dict[str, Any]:
    board.set_marks(ask["marks"])
    return {"marks": board.marks_by_run()}
