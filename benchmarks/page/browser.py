"""The pages that are measured, in a real Chromium: how to open one, see that it is drawn, scroll it and weigh it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psutil
from playwright.sync_api import Browser, CDPSession, Error, Page, sync_playwright

from benchmarks.harness.command import Missing
from benchmarks.harness.dashboards import PULSEBOARD, Dashboard
from benchmarks.harness.sampling import ToolFailed

_TIMEOUT_MS = 30_000.0
# What follows the first chart: the other cards in view, findings, descriptions of metrics.
_SETTLE_MS = 3_000.0
_WIDTH, _HEIGHT = 1440, 900
_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

# Checks after each frame whether a chart has every run. `drawn` resolves to that moment, counted from the beginning
# of the navigation.
_WAIT_FOR_CHART = """
window.bench = { frames: [] };
bench.drawn = new Promise((resolve) => {
  const runs = %(runs)d;
  %(complete)s
  const check = () => {
    if (complete()) resolve(performance.now());
    else requestAnimationFrame(() => setTimeout(check));
  };
  check();
  setTimeout(() => resolve(null), %(timeout_ms)d);
});
"""

# Pulseboard draws on a canvas, which cannot be asked what is on it. Each curve is one stroke, so strokes are counted.
_PULSEBOARD_COMPLETE = """
  const strokes = new WeakMap();
  const { stroke, clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.stroke = function (...rest) {
    strokes.set(this.canvas, (strokes.get(this.canvas) ?? 0) + 1);
    return stroke.apply(this, rest);
  };
  CanvasRenderingContext2D.prototype.clearRect = function (...rest) {
    strokes.set(this.canvas, 0);
    return clearRect.apply(this, rest);
  };
  const label = `: ${runs} curves`;
  const complete = () => [...document.querySelectorAll(".card .chart canvas")].some(
    (canvas) => strokes.get(canvas) >= runs && canvas.closest(".chart").ariaLabel.includes(label));
"""

# TensorBoard draws in a worker with WebGL, which Chromium emulates in software without a graphics card. The page sends
# the worker a chart's curves, each run twice, as logged and smoothed, and the worker reports when it has drawn them.
# Without any WebGL, curves are paths of an SVG.
_TENSORBOARD_COMPLETE = """
  localStorage.setItem("_tb_global_settings", JSON.stringify({ paginationSize: 100 }));
  let drawnByWorker = false;
  const sent = new WeakSet();
  const { postMessage } = MessagePort.prototype;
  MessagePort.prototype.postMessage = function (message, ...rest) {
    const curves = message?.compactDataSeries?.idsAndLengths ?? [];
    if (curves.filter(({ id, length }) => length > 0 && !id.startsWith("[")).length >= runs) sent.add(this);
    return postMessage.call(this, message, ...rest);
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
    .filter((box) => box.clientHeight > 300 && /auto|scroll/.test(getComputedStyle(box).overflowY))
    .sort((a, b) => b.scrollHeight - b.clientHeight - (a.scrollHeight - a.clientHeight))[0];
"""

_OPEN_GROUPS = """
  for (const icon of document.querySelectorAll(".group-toolbar [svgicon='expand_more_24px']")) {
    icon.closest(".group-toolbar").click();
  }
"""
_CARDS = "document.querySelectorAll('article.card, card-view').length"


@dataclass(frozen=True, slots=True)
class Memory:
    """What an open page holds after garbage collection."""

    heap_mb: float  # JavaScript objects
    renderer_mb: float  # the whole process, its share of shared pages included


def chromium_path() -> str:
    """Where Chromium is: `$PULSEBOARD_CHROMIUM`, or the first one on the PATH."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("PULSEBOARD_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise Missing("Chromium is missing: apt-get install chromium, or set PULSEBOARD_CHROMIUM to its path")
    return found


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A new browser."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class View:
    """One dashboard's cards in one tab of a browser, without a cache."""

    def __init__(self, browser: Browser, dashboard: Dashboard, *, runs: int) -> None:
        self.browser, self.dashboard = browser, dashboard
        self.ours = dashboard.name == PULSEBOARD
        self.context = browser.new_context(viewport={"width": _WIDTH, "height": _HEIGHT})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(_TIMEOUT_MS)
        complete = _PULSEBOARD_COMPLETE if self.ours else _TENSORBOARD_COMPLETE
        self.page.add_init_script(_WAIT_FOR_CHART % {"runs": runs, "complete": complete, "timeout_ms": _TIMEOUT_MS})
        self.session: CDPSession = self.context.new_cdp_session(self.page)

    def open(self) -> float:
        """Seconds from the navigation to a chart that has every run."""
        tab = "scalars" if self.ours else "timeseries"
        try:
            self.page.goto(f"http://127.0.0.1:{self.dashboard.port}/#{tab}", wait_until="commit")
            drawn_ms = self.page.evaluate("bench.drawn")
        except Error as error:
            raise ToolFailed(f"{self.dashboard.name}'s page did not open: {error.message}") from error
        if drawn_ms is None:
            raise ToolFailed(f"{self.dashboard.name}'s page had no complete chart after {_TIMEOUT_MS / 1e3:.0f} s.")
        return float(drawn_ms) / 1e3

    def draw_every_run(self, runs: int) -> None:
        """Select all runs, and wait for a chart of all of them."""
        self.page.keyboard.press("a")
        self.page.locator(f"article .chart[aria-label*=': {runs:,} curves']").first.wait_for(timeout=4 * _TIMEOUT_MS)

    def settle(self) -> None:
        """Wait for what follows the first chart."""
        self.page.wait_for_timeout(_SETTLE_MS)

    def memory(self) -> Memory:
        """What the page holds now."""
        self.session.send("HeapProfiler.enable")
        self.session.send("HeapProfiler.collectGarbage")
        self.session.send("Performance.enable")
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        heap_bytes = next(metric["value"] for metric in metrics if metric["name"] == "JSHeapUsedSize")
        processes = self.browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        renderers = [psutil.Process(process["id"]) for process in processes if process["type"] == "renderer"]
        # A browser keeps a spare renderer; the page's is the larger one.
        largest = max(renderer.memory_full_info().pss for renderer in renderers)
        return Memory(heap_mb=heap_bytes / 2**20, renderer_mb=largest / 2**20)

    def load_every_card(self) -> int:
        """Scroll to the end and back, slowly enough that every card is drawn. Returns the number of cards."""
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

    def scroll(self, *, pixels_per_sec: int, rounds: int) -> list[float]:
        """Turn the mouse wheel to the end and back: milliseconds between frames."""
        x, y, height = self.page.evaluate(
            f"""() => {{ {_SCROLLER}
              const box = scroller(), at = box.getBoundingClientRect();
              return [at.x + at.width / 2, at.y + at.height / 2, box.scrollHeight - box.clientHeight];
            }}"""
        )
        self.page.evaluate(
            """() => {
              let before = null;
              const onFrame = (now) => {
                if (before !== null) bench.frames.push(now - before);
                before = now;
                bench.request = requestAnimationFrame(onFrame);
              };
              bench.frames = [];
              requestAnimationFrame(onFrame);
            }"""
        )
        for _ in range(rounds):
            for distance in (-height, height):
                gesture = {"x": x, "y": y, "yDistance": distance, "speed": pixels_per_sec}
                self.session.send("Input.synthesizeScrollGesture", {**gesture, "gestureSourceType": "mouse"})
        frames: list[float] = self.page.evaluate("() => { cancelAnimationFrame(bench.request); return bench.frames; }")
        return frames

    def transferred_bytes(self) -> dict[str, int]:
        """Open it, and count the bytes over the wire: `page` is code, styles and images, `data` the API's responses."""
        kinds: dict[str, str] = {}
        sizes: dict[str, int] = {"page": 0, "data": 0}

        def responded(event: dict[str, Any]) -> None:
            kinds[event["requestId"]] = event["type"]

        def finished(event: dict[str, Any]) -> None:
            data = kinds.get(event["requestId"]) in ("XHR", "Fetch", "EventSource")
            sizes["data" if data else "page"] += int(event["encodedDataLength"])

        self.session.on("Network.responseReceived", responded)
        self.session.on("Network.loadingFinished", finished)
        self.session.send("Network.enable")
        self.open()
        self.settle()
        return sizes

    def close(self) -> None:
        """Close the tab."""
        self.context.close()


def cpu_secs() -> float:
    """What the children of this process have used: servers and browsers."""
    used = 0.0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            used += times.user + times.system
    return used
