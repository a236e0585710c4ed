"""Opening the page: the first chart on the screen, bytes over the wire, and memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks.harness.dashboards import PULSEBOARD, TENSORBOARD, Dashboard
from benchmarks.harness.log_sets import description, run_names
from benchmarks.harness.report import Check, Part, at_least, table
from benchmarks.harness.sampling import Quiet, Sample, interleaved, median
from benchmarks.page.browser import Memory, View, chromium, cpu_secs

TAG = "train/loss"
TARGET_SPEEDUP, TARGET_FROM_START = 8, 5
TARGET_KB = 250
TARGET_HEAP_MB = 60
FIRST_SELECTION = 100
"""Of very many runs, the page draws this many until others are selected."""

# Starts a server, as benchmarks.harness.dashboards does.
Start = Callable[[], AbstractContextManager[Dashboard]]


def first_chart(dashboards: dict[str, Dashboard], quiet: Quiet, *, runs: int, steps: int, repeat: int) -> Part:
    """From the navigation to a painted chart with every run."""
    with chromium() as browser:

        def opening(dashboard: Dashboard) -> Callable[[], Sample]:
            def opened() -> Sample:
                view = View(browser, dashboard, runs=runs)
                before = cpu_secs()
                try:
                    secs = view.open()
                    return {"secs": secs, "cpu_s": cpu_secs() - before}
                finally:
                    view.close()

            return opened

        pages = {name: opening(dashboard) for name, dashboard in dashboards.items()}
        for open_once in pages.values():  # the browser's own first page is not counted
            open_once()
        samples = interleaved(pages, repeat=dict.fromkeys(pages, repeat), quiet=quiet)
    secs = {name: median(found, "secs") for name, found in samples.items()}
    rows = []
    for name, found in samples.items():
        taken = [sample["secs"] for sample in found]
        rows.append((name, f"{secs[name]:.2f} s", f"{min(taken):.2f} to {max(taken):.2f} s"))
    label = f"first chart of {runs} runs drawn in the browser"
    ratio = secs[TENSORBOARD] / secs[PULSEBOARD]
    checks = [at_least(label, ratio, TARGET_SPEEDUP, unit=" times sooner than TensorBoard")]
    text = (
        f"From the navigation to a painted frame in which one chart has the curves of all {runs} runs x {steps:,} "
        "steps, in a browser context without a cache, on a server that has loaded everything. For Pulseboard this is "
        "the Scalars tab, for TensorBoard its Time Series tab, which shows all runs by default. The browser has no "
        "graphics card: TensorBoard's WebGL is emulated in software, which here takes as long as its SVG does.\n\n"
        + table(("page", "median", "minimum to maximum"), rows)
    )
    return Part("First chart on the screen", text, checks, samples)


def from_start(starts: dict[str, Start], logs: Path, quiet: Quiet, *, repeat: int) -> Part:
    """From the start of the server's process to a painted chart with every run, in a browser that is open."""
    names, steps = run_names(logs), description(logs)["steps"]
    with chromium() as browser:

        def opening(start: Start) -> Callable[[], Sample]:
            def opened() -> Sample:
                before = cpu_secs()
                with start() as dashboard:
                    # TensorBoard's page does not show by itself what is loaded after it was opened.
                    if dashboard.name == TENSORBOARD:
                        dashboard.wait_for_chart(TAG, names, last_step=steps - 1)
                    else:
                        dashboard.wait_for_response()
                    view = View(browser, dashboard, runs=len(names))
                    waited = time.perf_counter() - dashboard.began
                    try:
                        secs = waited + view.open()
                    finally:
                        view.close()
                    return {"secs": secs, "waited_s": waited, "cpu_s": cpu_secs() - before}

            return opened

        measures = {name: opening(start) for name, start in starts.items()}
        samples = interleaved(measures, repeat=dict.fromkeys(measures, repeat), quiet=quiet)
    secs = {name: median(found, "secs") for name, found in samples.items()}
    rows = [
        (name, f"{median(found, 'waited_s'):.2f} s", f"{secs[name]:.2f} s", f"{max(s['secs'] for s in found):.2f} s")
        for name, found in samples.items()
    ]
    check = at_least(
        f"start of the process to the first chart of {len(names)} runs in the browser",
        secs[TENSORBOARD] / secs[PULSEBOARD],
        TARGET_FROM_START,
        unit=" times sooner than TensorBoard",
    )
    text = (
        f"From the start of the server's process, without an index, to a painted chart of all {len(names)} runs x "
        f"{steps:,} steps in a browser that was open before. Pulseboard's page is opened when its server responds, and "
        "fills in by itself; TensorBoard's when its server has loaded every run, which a user would have to guess.\n\n"
        + table(("page", "until it is opened", "until the chart, median", "longest"), rows)
    )
    return Part("From the start to the first chart", text, [check], samples)


def first_load(dashboards: dict[str, Dashboard], *, runs: int) -> Part:
    """Bytes over the wire until the first cards are drawn."""
    sizes = {}
    with chromium() as browser:
        for name, dashboard in dashboards.items():
            view = View(browser, dashboard, runs=runs)
            sizes[name] = view.transferred_bytes()
            view.close()
    rows = [
        (name, f"{size['page'] / 1e3:,.0f} kB", f"{size['data'] / 1e3:,.0f} kB", f"{sum(size.values()) / 1e3:,.0f} kB")
        for name, size in sizes.items()
    ]
    kb = sizes[PULSEBOARD]["page"] / 1e3
    checks = [Check("first load of the page, compressed", f"{kb:.0f} kB", f"below {TARGET_KB} kB", kb < TARGET_KB)]
    text = (
        "Bytes over the wire, headers included, until the first cards are drawn. The page is its code, styles and "
        "images; data are the responses of the API, whose columns Pulseboard sends to the same machine "
        "uncompressed.\n\n" + table(("page", "the page", "data", "total"), rows)
    )
    return Part("First load", text, checks, sizes)


def memory(dashboards: dict[str, Dashboard], *, runs: int, repeat: int) -> Part:
    """What an open page holds."""
    samples: dict[str, list[Sample]] = {name: [] for name in dashboards}
    for _ in range(repeat):
        for name, dashboard in dashboards.items():
            with chromium() as browser:  # a fresh one: a renderer keeps the memory of earlier pages
                view = View(browser, dashboard, runs=runs)
                view.open()
                view.settle()
                samples[name].append(memory_sample(view.memory()))
                view.close()
    checks, rows = memory_figures(samples, f"with its first cards of {runs} runs drawn")
    text = (
        "An open page three seconds after its first chart, after garbage collection: the JavaScript heap, and the "
        "proportional set size of the renderer process, which holds the page's buffers and images too.\n\n"
        + table(("page", "heap", "renderer"), rows)
    )
    return Part("Memory of the page", text, checks, samples)


def many_runs(dashboard: Dashboard, *, runs: int, steps: int) -> Part:
    """What an open page holds that draws very many runs."""
    with chromium() as browser:
        view = View(browser, dashboard, runs=min(runs, FIRST_SELECTION))
        view.open()
        view.draw_every_run(runs)
        view.settle()
        held = view.memory()
        view.close()
    check = Check(
        f"heap, with cards of {runs:,} runs x {steps:,} steps drawn",
        f"{held.heap_mb:.0f} MB",
        f"below {TARGET_HEAP_MB} MB",
        held.heap_mb < TARGET_HEAP_MB,
    )
    text = (
        f"The Scalars tab with all of {runs:,} runs selected, after garbage collection. The heap is "
        f"{held.heap_mb:.0f} MB and the renderer process holds {held.renderer_mb:.0f} MB."
    )
    return Part("Very many runs", text, [check], memory_sample(held))


def memory_sample(held: Memory) -> Sample:
    """Memory as plain data."""
    return {"heap_mb": held.heap_mb, "renderer_mb": held.renderer_mb}


def memory_figures(samples: dict[str, list[Sample]], state: str) -> tuple[list[Check], list[tuple[str, str, str]]]:
    """Checks of both kinds of memory in this state of the page, and the rows of their table."""
    medians = {
        kind: {name: median(found, kind) for name, found in samples.items()} for kind in ("renderer_mb", "heap_mb")
    }
    checks = [
        Check(
            f"{label}, {state}",
            f"{figures[PULSEBOARD]:.0f} MB, TensorBoard {figures[TENSORBOARD]:.0f} MB",
            "below TensorBoard's",
            figures[PULSEBOARD] < figures[TENSORBOARD],
        )
        for label, figures in (("renderer's memory", medians["renderer_mb"]), ("heap", medians["heap_mb"]))
    ]
    rows = [(name, f"{medians['heap_mb'][name]:.0f} MB", f"{medians['renderer_mb'][name]:.0f} MB") for name in samples]
    return checks, rows
