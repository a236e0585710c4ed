"""Waiting for a condition on the page, never for a fixed time: a busy machine takes as long as it takes.

Playwright's wait_for_function evaluates strings, which the page's content security policy forbids.
"""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary

_TIMEOUT_SECS = 60.0
# Longer than the page's own delays: it batches requests for 50 ms and writes the address after 100 ms.
_STILL_MILLISECS = 250

_requests: WeakKeyDictionary[Any, set[Any]] = WeakKeyDictionary()

# What a person sees and what the address says. Two frames are drawn first, so a change that waits for one is included.
_STATE = """async () => {
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
    const canvases = [...document.querySelectorAll('canvas')].map((canvas) => {
        try { return canvas.toDataURL(); } catch { return ''; }
    });
    return [location.href, document.body.innerHTML, ...canvases].join('|');
}"""


def track_requests(page: Any) -> None:
    """Keep track of the requests that a page is waiting for. The live stream never ends and does not count."""
    open_requests = _requests[page] = set()

    def begin(request: Any) -> None:
        if "/api/stream" not in request.url:
            open_requests.add(request)

    def end(request: Any) -> None:
        open_requests.discard(request)

    page.on("request", begin)
    page.on("requestfinished", end)
    page.on("requestfailed", end)


def until(page: Any, expression: str, arg: Any = None, *, secs: float = _TIMEOUT_SECS) -> Any:
    """Wait until a JavaScript expression is true, and return its value. A timeout names the expression."""
    end = time.monotonic() + secs
    while not (value := page.evaluate(expression, arg)):
        assert time.monotonic() < end, f"timed out waiting for {expression}"
        page.wait_for_timeout(50)
    return value


def settle(page: Any) -> None:
    """Wait until the page has every response it asked for and has stopped changing."""
    end = time.monotonic() + _TIMEOUT_SECS
    before = None
    while True:
        state = page.evaluate(_STATE)
        if state == before and not _requests.get(page):
            return
        assert time.monotonic() < end, f"the page keeps changing; it waits for {[r.url for r in _requests[page]]}"
        before = state
        page.wait_for_timeout(_STILL_MILLISECS)
