"""The live stream: revisions as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from pulseboard.serve.live.dashboard import Loading
from pulseboard.serve.live.revisions import StreamEvent, Update

if TYPE_CHECKING:
    from pulseboard.serve.live.dashboard import Dashboard

PING_SECS = 15.0
# Changes within this time are sent together: a run may log fifty times per second.
MERGE_SECS = 0.1
RETRY_MILLISECS = 1000


def encode(event: StreamEvent) -> bytes:
    """An event in the format of the stream. JSON contains no line breaks, so a name cannot end a line."""
    text = f"event: {event.name}\ndata: {json.dumps(dict(event.data), separators=(',', ':'))}\n\n"
    if event.revision is not None:
        text = f"id: {event.revision}\n{text}"
    return text.encode("utf-8", "backslashreplace")


def encoded(update: Update) -> bytes:
    """All events of an update. Encoded once, however many streams send it."""
    if update.encoded is None:
        update.encoded = b"".join(map(encode, update.events))
    return update.encoded


def _progress_event(loading: Loading | None) -> StreamEvent:
    """How far the first read is. Its end is an event of its own: the runs are known after the last file is read."""
    now = loading or Loading(0, 0)
    return StreamEvent("loading", {"done": now.done, "total": now.total, "reading": loading is not None})


async def events(dashboard: Dashboard, *, since: int | None) -> AsyncIterator[bytes]:
    """Encoded events after the revision `since`, or from now on if it is None. Ends when the dashboard closes.

    Each message is computed from what the client has seen, without a queue: a slow client blocks nobody, costs no
    memory, and gets the latest state when it is ready.
    """
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()

    waking = False  # many changes in a row must not queue many calls

    def wake() -> None:
        nonlocal waking
        if not waking:
            waking = True
            with contextlib.suppress(RuntimeError):  # the loop has ended in the meantime
                loop.call_soon_threadsafe(awake)

    def awake() -> None:
        nonlocal waking
        waking = False
        changed.set()

    unsubscribe = dashboard.revisions.subscribe(wake)
    try:
        revision = dashboard.revisions.current if since is None else since
        # Sent at least once: the read may have ended since the client requested the status.
        sent_progress: Loading | None = Loading(-1, -1)
        yield f"retry: {RETRY_MILLISECS}\n\n".encode()
        while not dashboard.closed:
            changed.clear()
            loading = dashboard.loading
            update = dashboard.revisions.since(revision)
            revision = update.revision
            if update.events:
                yield encoded(update)
            # After the runs: a page that hears of the end knows whether there are any.
            if loading != sent_progress:
                yield encode(_progress_event(loading))
                sent_progress = loading
            try:
                await asyncio.wait_for(changed.wait(), PING_SECS)
                await asyncio.sleep(MERGE_SECS if not dashboard.closed else 0)
            except asyncio.TimeoutError:
                yield encode(StreamEvent("ping", {}))
    finally:
        unsubscribe()
