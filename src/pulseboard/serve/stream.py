"""The stream: the journal as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from pulseboard.serve.journal import Event, Loading

if TYPE_CHECKING:
    from pulseboard.serve.board import Board

PING_SECS = 15.0
# A run that logs fifty times a second need not be told of fifty times a second.
GATHER_SECS = 0.1
RETRY_MILLISECS = 1000


def encoded(event: Event) -> bytes:
    """An event as the stream has it. JSON holds no line breaks, so a name cannot end a line."""
    said = f"event: {event.name}\ndata: {json.dumps(dict(event.data), separators=(',', ':'))}\n"
    return (said if event.revision is None else f"id: {event.revision}\n{said}").encode(
        "utf-8", "backslashreplace"
    ) + b"\n"


async def events(board: Board, *, since: int | None) -> AsyncIterator[bytes]:
    """Events from `since` on, None: from now on. Ends when the board closes.

    What is sent depends on what the reader has seen and not on a queue: one that is slow holds nobody back, costs
    no memory, and gets the newest state when it is ready.
    """
    loop = asyncio.get_running_loop()
    news = asyncio.Event()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(news.set)

    end = board.journal.on_wake(wake)
    try:
        at = board.journal.revision if since is None else since
        told: Loading | None = None
        yield f"retry: {RETRY_MILLISECS}\n\n".encode()
        while not board.closed:
            news.clear()
            if (loading := board.loading) != told:
                # Done is told too, so that a progress bar ends full.
                said = loading or (Loading(told.total, told.total) if told else None)
                told = loading
                if said is not None:
                    yield encoded(Event("loading", {"done": said.done, "total": said.total}))
            new = board.journal.since(at)
            at = new.revision
            for event in new.events:
                yield encoded(event)
            try:
                await asyncio.wait_for(news.wait(), PING_SECS)
                await asyncio.sleep(GATHER_SECS if not board.closed else 0)
            except asyncio.TimeoutError:
                yield encoded(Event("ping", {}))
    finally:
        end()
