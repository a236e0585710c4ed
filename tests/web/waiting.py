"""Waiting for a condition on the page, never for a fixed time: a busy machine takes as long as it takes.

Playwright's wait_for_function evaluates strings, which the page's content security policy forbids.
"""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary

_TIMEOUT_SECS = 120.0

# Runs before the page's own code and keeps count of what the page has begun and not finished: requests until their body
# is read, timers that end soon (those of retries, messages and polls are longer), and animation frames.
TRACK_WORK = """(() => {
    const SOON_MS = 300;
    const work = new Map();
    let changes = 0;
    const begin = (what) => {
        const key = Symbol();
        changes++;
        work.set(key, what);
        return key;
    };
    const end = (key) => {
        if (work.delete(key)) changes++;
    };
    const { fetch, setTimeout, clearTimeout, requestAnimationFrame, cancelAnimationFrame } = window;
    const track = (what, promise) => {
        const key = begin(what);
        // After what the page does with the result, which may begin something else.
        const done = () => setTimeout(() => end(key));
        promise.then(done, done);
        return promise;
    };
    window.fetch = (...request) => track(`fetch ${request[0]?.url ?? request[0]}`, fetch(...request));
    for (const name of ['arrayBuffer', 'blob', 'json', 'text']) {
        const read = Response.prototype[name];
        Response.prototype[name] = function () { return track(`${name} of ${this.url}`, read.call(this)); };
    }
    const timers = new Map();
    window.setTimeout = (run, delay = 0, ...rest) => {
        if (typeof run !== 'function' || delay > SOON_MS) return setTimeout(run, delay, ...rest);
        const key = begin(`timer of ${delay} ms`);
        const id = setTimeout((...values) => {
            try { run(...values); } finally { end(key); timers.delete(id); }
        }, delay, ...rest);
        timers.set(id, key);
        return id;
    };
    window.clearTimeout = (id) => {
        end(timers.get(id));
        timers.delete(id);
        clearTimeout(id);
    };
    const frames = new Map();
    window.requestAnimationFrame = (run) => {
        const key = begin('frame');
        const id = requestAnimationFrame((now) => {
            try { run(now); } finally { end(key); frames.delete(id); }
        });
        frames.set(id, key);
        return id;
    };
    window.cancelAnimationFrame = (id) => {
        end(frames.get(id));
        frames.delete(id);
        cancelAnimationFrame(id);
    };
    new MutationObserver(() => changes++).observe(document, {
        attributes: true, characterData: true, childList: true, subtree: true,
    });
    // Resolves when nothing is unfinished and nothing has changed for some frames, so that observers and effects have
    // run too. A list of what is unfinished means that time is up.
    window.whenStill = async (frameCount, timeoutSecs) => {
        const until = performance.now() + 1000 * timeoutSecs;
        for (let still = 0; still < frameCount; ) {
            const before = changes;
            await new Promise(requestAnimationFrame);
            await new Promise((done) => setTimeout(done));
            still = work.size === 0 && changes === before ? still + 1 : 0;
            if (performance.now() > until) return [...work.values(), `${changes} changes`];
        }
        return [];
    };
})()"""
_STILL_FRAMES = 4


class _Requests:
    """The requests of a page for scripts, images and everything else."""

    def __init__(self, page: Any) -> None:
        self.begun = 0
        self.open: set[Any] = set()
        page.on("request", self._begin)
        page.on("requestfinished", self._end)
        page.on("requestfailed", self._end)

    def _begin(self, request: Any) -> None:
        if "/api/stream" not in request.url:  # the live stream never ends
            self.begun += 1
            self.open.add(request)

    def _end(self, request: Any) -> None:
        self.open.discard(request)


_requests: WeakKeyDictionary[Any, _Requests] = WeakKeyDictionary()


def track_work(page: Any) -> None:
    """Keep track of what a page is doing, for `settle`. Call it before the page is loaded."""
    page.add_init_script(TRACK_WORK)
    _requests[page] = _Requests(page)


def until(page: Any, expression: str, arg: Any = None, *, secs: float = _TIMEOUT_SECS) -> Any:
    """Wait until a JavaScript expression is true, and return its value. A timeout names the expression."""
    end = time.monotonic() + secs
    while not (value := page.evaluate(expression, arg)):
        assert time.monotonic() < end, f"timed out waiting for {expression}"
        page.wait_for_timeout(20)
    return value


def settle(page: Any) -> None:
    """Wait until the page has nothing left to do but to wait for the user and the server's news."""
    requests = _requests[page]
    end = time.monotonic() + _TIMEOUT_SECS
    while True:
        begun = requests.begun
        unfinished = page.evaluate("([frames, secs]) => window.whenStill(frames, secs)", [_STILL_FRAMES, _TIMEOUT_SECS])
        assert not unfinished, f"the page keeps changing; it waits for {unfinished}"
        if not requests.open and requests.begun == begun:
            return
        assert time.monotonic() < end, f"the page waits for {[request.url for request in requests.open]}"
        page.wait_for_timeout(20)
