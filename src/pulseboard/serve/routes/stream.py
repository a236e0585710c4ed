"""Live changes as server-sent events."""

from __future__ import annotations

from pulseboard.serve import schema
from pulseboard.serve.answers import Streamed
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.stream import events


@endpoint(
    "GET",
    "stream",
    "Changes as they happen. After a lost connection the browser names the last event it saw, and gets what it missed.",
    query={"since": schema.whole("a revision; none: from now on")},
    media_type="text/event-stream",
    inline=True,
)
def stream(board: Board, ask: Ask) -> Streamed:
    # The header is newer: the browser sends it when it connects again, with the address of the first time.
    last = ask.request.headers.get("last-event-id", "")
    since = int(last) if last.isascii() and last.isdecimal() and len(last) < 20 else ask["since"]
    return Streamed(events(board, since=since), "text/event-stream", headers={"cache-control": "no-store"})
