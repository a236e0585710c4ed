"""The pages that are measured, in a real Chromium: how each is opened, known to be drawn, scrolled and weighed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psutil
from measure import ReaderFailed
from playwright.sync_api import Browser, CDPSession, Error, Page, sync_playwright
from servers import Dashboard

_GIVE_UP_MS = 30_000.0
# What follows the first chart: the other cards in view, findings, meanings.
_SETTLE_MS = 3_000.0
_WIDTH, _HEIGHT = 1440, 900
_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

# Looks after each frame whether a chart has every run. `drawn` is that moment, counted from the beginning of the
# navigation.
_WATCH = """
window.bench = { frames: [] };
bench.drawn = new Promise((resolve) => {
  const runs = %(runs)d;
  %(look)s
  const look = () => {
    if (complete()) resolve(performance.now());
    else requestAnimationFrame(() => setTimeout(look));
  };
  look();
  setTimeout(() => resolve(null), %(give_up_ms)d);
});
"""

# Ours draws on a canvas, which does not tell what is on it: strokes are counted, each curve being one.
_OURS = """
  const strokes = new WeakMap();
  const { stroke, clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.stroke = function (...given) {
    strokes.set(this.canvas, (strokes.get(this.canvas) ?? 0) + 1);
    return stroke.apply(this, given);
  };
  CanvasRenderingContext2D.prototype.clearRect = function (...given) {
    strokes.set(this.canvas, 0);
    return clearRect.apply(this, given);
  };
  const label = `: ${runs} curves`;
  const complete = () => [...document.querySelectorAll(".card .chart canvas")].some(
    (canvas) => strokes.get(canvas) >= runs && canvas.closest(".chart").ariaLabel.includes(label));
"""

# TensorBoard draws in a worker with WebGL, which Chromium does in software where there is no graphics card. The page
# sends the worker a chart's curves, with each run twice, as logged and smoothed, and the worker says when it has drawn.
# Where there is no WebGL at all, curves are paths of an SVG.
_THEIRS = """
  localStorage.setItem("_tb_global_settings", JSON.stringify({ paginationSize: 100 }));
  let drawnByWorker = false;
  const sent = new WeakSet();
  const { postMessage } = MessagePort.prototype;
  MessagePort.prototype.postMessage = function (said, ...given) {
    const curves = said?.compactDataSeries?.idsAndLengths ?? [];
    if (curves.filter(({ id, length }) => length > 0 && !id.startsWith("[")).length >= runs) sent.add(this);
    return postMessage.call(this, said, ...given);
  };
  const onmessage = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage");
  Object.defineProperty(MessagePort.prototype, "onmessage", {
    ...onmessage,
    set(listener) {
      onmessage.set.call(this, (event) => {
        drawnByWorker ||= sent.has(this);
        listener.call(this, event);
      });
    },
  });
  const complete = () => drawnByWorker || [...document.querySelectorAll("scalar-card line-chart svg")].some(
    (svg) => [...svg.getElementsByTagName("path")].filter((path) => path.getAttribute("d")).length >= 2 * runs);
"""

_SCROLLER = """
  const scroller = () => [...document.querySelectorAll("*")]
    .filter((one) => one.clientHeight > 300 && /auto|scroll/.test(getComputedStyle(one).overflowY))
    .sort((a, b) => b.scrollHeight - b.clientHeight - (a.scrollHeight - a.clientHeight))[0];
"""

_OPEN_GROUPS = """
  for (const icon of document.querySelectorAll(".group-toolbar [svgicon='expand_more_24px']")) {
    icon.closest(".group-toolbar").click();
  }
"""
_CARDS = "document.querySelectorAll('article.card, card-view').length"


class BrowserMissing(Exception):
    """There is no Chromium here, so that no page can be measured."""

    def __init__(self) -> None:
        super().__init__("Chromium is missing: apt-get install chromium, or name it in PULSEBOARD_CHROMIUM")


@dataclass(frozen=True, slots=True)
class Scrolled:
    """Frames of a page while it was scrolled."""

    frame_ms: list[float]
    pixels: int  # how far it was scrolled, down and up together


@dataclass(frozen=True, slots=True)
class Held:
    """What an open page holds after its garbage is collected."""

    heap_mb: float  # JavaScript objects
    renderer_mb: float  # the whole process, shared pages counted in shares


def chromium_path() -> str:
    """Where Chromium is: `$PULSEBOARD_CHROMIUM`, or what the PATH has."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("PULSEBOARD_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise BrowserMissing
    return found


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class View:
    """One dashboard's cards in one tab of a browser that knows nothing of it yet."""

    def __init__(self, browser: Browser, board: Dashboard, *, runs: int) -> None:
        self.browser, self.board = browser, board
        self.ours = board.name == "Pulseboard"
        self.context = browser.new_context(viewport={"width": _WIDTH, "height": _HEIGHT})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(_GIVE_UP_MS)
        self.page.add_init_script(
            _WATCH % {"runs": runs, "look": _OURS if self.ours else _THEIRS, "give_up_ms": _GIVE_UP_MS}
        )
        self.session: CDPSession = self.context.new_cdp_session(self.page)

    def open(self) -> float:
        """Seconds from the navigation to a chart that has every run."""
        place = "scalars" if self.ours else "timeseries"
        try:
            self.page.goto(f"http://127.0.0.1:{self.board.port}/#{place}", wait_until="commit")
            drawn_ms = self.page.evaluate("bench.drawn")
        except Error as error:
            raise ReaderFailed(f"{self.board.name}'s page did not open: {error.message}") from error
        if drawn_ms is None:
            raise ReaderFailed(f"{self.board.name}'s page had no complete chart after {_GIVE_UP_MS / 1e3:.0f} s.")
        return float(drawn_ms) / 1e3

    def settle(self) -> None:
        """Let it finish what follows the first chart."""
        self.page.wait_for_timeout(_SETTLE_MS)

    def holds(self) -> Held:
        """Its memory."""
        self.session.send("HeapProfiler.enable")
        self.session.send("HeapProfiler.collectGarbage")
        self.session.send("Performance.enable")
        found = {one["name"]: one["value"] for one in self.session.send("Performance.getMetrics")["metrics"]}
        processes = self.browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        renderers = [psutil.Process(one["id"]) for one in processes if one["type"] == "renderer"]
        # A browser keeps a spare renderer; the page's is the one with something in it.
        largest = max(one.memory_full_info().pss for one in renderers)
        return Held(heap_mb=found["JSHeapUsedSize"] / 2**20, renderer_mb=largest / 2**20)

    def load_every_card(self) -> int:
        """Scroll to the end and back, slowly enough that every card is drawn. How many cards there are."""
        if not self.ours:
            self.page.evaluate(f"() => {{ {_OPEN_GROUPS} }}")
        self.page.evaluate(
            f"""async () => {{ {_SCROLLER}
              const box = scroller(), wait = (ms) => new Promise((done) => setTimeout(done, ms));
              for (let at = 0; at < box.scrollHeight; at += box.clientHeight / 2) {{
                box.scrollTop = at;
                await wait(700);
              }}
              box.scrollTop = 0;
            }}"""
        )
        self.settle()
        return int(self.page.evaluate(_CARDS))

    def scroll(self, *, pixels_a_second: int, rounds: int) -> Scrolled:
        """Turn the wheel to the end and back, and take the time between frames."""
        x, y, way = self.page.evaluate(
            f"""() => {{ {_SCROLLER}
              const box = scroller(), at = box.getBoundingClientRect();
              return [at.x + at.width / 2, at.y + at.height / 2, box.scrollHeight - box.clientHeight];
            }}"""
        )
        self.page.evaluate(
            """() => {
              let before = null;
              const note = (now) => {
                if (before !== null) bench.frames.push(now - before);
                before = now;
                bench.watching = requestAnimationFrame(note);
              };
              bench.frames = [];
              requestAnimationFrame(note);
            }"""
        )
        for _ in range(rounds):
            for distance in (-way, way):
                gesture = {"x": x, "y": y, "yDistance": distance, "speed": pixels_a_second}
                self.session.send("Input.synthesizeScrollGesture", {**gesture, "gestureSourceType": "mouse"})
        frames = self.page.evaluate("() => { cancelAnimationFrame(bench.watching); return bench.frames; }")
        return Scrolled(frame_ms=frames, pixels=int(2 * rounds * way))

    def weigh(self) -> dict[str, int]:
        """Open it, and count what came over the wire: `page` is code, styles and pictures, `data` all answers."""
        kinds: dict[str, str] = {}
        sizes: dict[str, int] = {"page": 0, "data": 0}

        def answered(event: dict[str, Any]) -> None:
            kinds[event["requestId"]] = event["type"]

        def finished(event: dict[str, Any]) -> None:
            data = kinds.get(event["requestId"]) in ("XHR", "Fetch", "EventSource")
            sizes["data" if data else "page"] += int(event["encodedDataLength"])

        self.session.on("Network.responseReceived", answered)
        self.session.on("Network.loadingFinished", finished)
        self.session.send("Network.enable")
        self.open()
        self.settle()
        return sizes

    def close(self) -> None:
        """Close the tab."""
        self.context.close()


def cpu_secs() -> float:
    """What this process's children have used: servers and browsers."""
    used = 0.0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            used += times.user + times.system
    return used
