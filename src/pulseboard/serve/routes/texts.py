"""Texts, as they were logged and as HTML that is safe to show."""

from __future__ import annotations

from typing import Any

from pulseboard.serve import schema
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.markdown import to_html
from pulseboard.serve.routes.runs import RUN, TAG

_ITEM = schema.answer(
    "TextItem",
    {
        "step": schema.whole(least=-(2**63), most=2**63),
        "wall_time": schema.number(),
        "text": schema.text(most=100_000_000),
        "html": schema.text(most=100_000_000),
    },
)


@endpoint(
    "GET",
    "texts",
    "The texts of a tag; `html` is their Markdown, sanitised.",
    query={"run": RUN, "tag": TAG, "limit": schema.whole("the newest so many", least=1, most=1000, default=100)},
    required=("run", "tag"),
    gives=schema.record({"items": schema.several(_ITEM, most=1000)}, required=("items",)),
)
def texts(board: Board, ask: Ask) -> dict[str, Any]:
    run = board.run(ask["run"])
    ask.same_since(board.state_of([run.name]))
    newest = board.values(run, ask["tag"], kind="text")[-ask["limit"] :]
    return {
        "items": [
            {"step": one.step, "wall_time": one.wall_time, "text": one.text, "html": to_html(one.text)}
            for one in newest
        ]
    }
