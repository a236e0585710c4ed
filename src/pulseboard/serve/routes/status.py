"""What the server is and how far it has read; the interface for programs."""

from __future__ import annotations

from typing import Any

from pulseboard.serve import schema
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import ENDPOINTS, Ask, endpoint
from pulseboard.serve.openapi import document

STATUS = schema.answer(
    "ServerStatus",
    {
        "version": schema.text(),
        "title": schema.text(),
        "directories": schema.several(schema.text(), most=10_000),
        "loading": schema.or_null(
            schema.record({"done": schema.whole(), "total": schema.whole()}, required=("done", "total"))
        ),
        "revision": schema.whole(),
        "role": schema.choice("read", "full"),
        "findings": schema.flag("whether runs are diagnosed here"),
    },
)


@endpoint("GET", "status", "What this server shows, and how far it has read.", gives=STATUS, inline=True)
def status(board: Board, ask: Ask) -> dict[str, Any]:
    loading = board.loading
    return {
        "version": board.version,
        "title": board.title,
        "directories": board.directories,
        "loading": None if loading is None else {"done": loading.done, "total": loading.total},
        "revision": board.journal.revision,
        "role": ask.role,
        "findings": board.diagnosis.available,
    }


@endpoint("GET", "openapi.json", "This interface for programs.", inline=True)
def openapi(board: Board, ask: Ask) -> dict[str, Any]:
    ask.same_since(board.version)
    prefix = ask.request.path.removesuffix("/api/openapi.json")
    return document(ENDPOINTS, version=board.version, prefix=prefix)
