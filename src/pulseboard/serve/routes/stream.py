"""Live changes as server-sent events."""

from __future__ import annotations

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.responses import StreamingResponse
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.live.stream import events


@endpoint(
    "GET",
    "stream",
    "Changes as they happen. A browser that reconnects sends the last event it saw, and gets what it missed.",
    query={"since": schema.integer("a revision; from now on if absent")},
    media_type="text/event-stream",
    inline=True,
)
def stream(dashboard: Dashboard, request: ApiRequest) -> StreamingResponse:
    # The header is newer: a browser that reconnects sends it along with the first address.
    last = request.http.headers.get("last-event-id", "")
    since = int(last) if last.isascii() and last.isdecimal() and len(last) < 20 else request["since"]
    return StreamingResponse(events(dashboard, since=since), "text/event-stream", headers={"cache-control": "no-store"})
