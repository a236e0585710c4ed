"""Measures the dashboard's page in a real Chromium, and TensorBoard's for comparison.

    python -m benchmarks.page --write docs/benchmarks.md
    python -m benchmarks.page --quick        a smoke test; its figures mean nothing

Both servers run over the same logs and have loaded them before a page is opened. Chromium and playwright are needed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness.command import Benchmark, Missing, measure_selected
from benchmarks.harness.dashboards import (
    PULSEBOARD,
    TENSORBOARD,
    Dashboard,
    pulseboard,
    require_tensorboard,
    tensorboard,
)
from benchmarks.harness.log_sets import description, make_runs, run_names
from benchmarks.harness.paths import LOGS, QUICK_LOGS, REPOSITORY, WORK
from benchmarks.harness.processes import warm
from benchmarks.harness.report import Part
from benchmarks.harness.sampling import Quiet, ToolFailed

BUILT_PAGE = REPOSITORY / "src" / "pulseboard" / "serve" / "page" / "index.html"
_DIAGNOSIS_SECS = 120.0


def _require_browser() -> None:
    if importlib.util.find_spec("playwright") is None:
        raise Missing("playwright is missing: pip install playwright")
    from benchmarks.page.browser import chromium_path

    chromium_path()
    if not BUILT_PAGE.exists():
        raise Missing("The page is not built: make page")


def measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    """Every part: some on pages with few cards, scrolling on one with many."""
    require_tensorboard()
    _require_browser()
    from benchmarks.page import loading, scrolling

    quick, logs = options.quick, QUICK_LOGS if options.quick else LOGS
    BENCHMARK.log("making the logs")
    runs, steps = (10, 200) if quick else (100, 2_000)
    few_cards = make_runs(logs, runs=runs, tags=5 if quick else 20, steps=steps)
    many_cards = make_runs(logs, runs=runs, tags=12 if quick else 50, steps=steps)
    repeat = 1 if quick else options.repeat

    with contextlib.ExitStack() as stack:
        # Started by the first part that needs them, and stopped before the other pair starts.
        started: dict[Path, dict[str, Dashboard]] = {}

        def dashboards(path: Path) -> dict[str, Dashboard]:
            if path not in started:
                stack.close()
                started.clear()
                started[path] = stack.enter_context(_both(path, WORK / "cache"))
            return started[path]

        parts = {
            "from the start": lambda: _from_the_start(few_cards, stack, quiet, repeat=repeat),
            "first chart": lambda: loading.first_chart(
                dashboards(few_cards), quiet, runs=runs, steps=steps, repeat=repeat
            ),
            "first load": lambda: loading.first_load(dashboards(few_cards), runs=runs),
            "memory": lambda: loading.memory(dashboards(few_cards), runs=runs, repeat=min(repeat, 2)),
            "scrolling": lambda: scrolling.measure(dashboards(many_cards), runs=runs, rounds=1 if quick else 2),
            "very many runs": lambda: _very_many_runs(logs, stack, runs=250 if quick else 1_000, steps=steps),
        }
        return measure_selected(BENCHMARK, parts, options)


def _from_the_start(logs: Path, stack: contextlib.ExitStack, quiet: Quiet, *, repeat: int) -> Part:
    from benchmarks.page import loading

    stack.close()
    warm(logs)
    cache = WORK / "fresh_cache"

    def ours() -> contextlib.AbstractContextManager[Dashboard]:
        shutil.rmtree(cache, ignore_errors=True)
        return pulseboard(logs, cache=cache)

    return loading.from_start({PULSEBOARD: ours, TENSORBOARD: lambda: tensorboard(logs)}, logs, quiet, repeat=repeat)


def _very_many_runs(logs: Path, stack: contextlib.ExitStack, *, runs: int, steps: int) -> Part:
    from benchmarks.page import loading

    stack.close()
    path = make_runs(logs, runs=runs, tags=3, steps=steps)
    warm(path)
    with pulseboard(path, cache=WORK / "cache") as ours:
        ours.wait_for_chart(loading.TAG, run_names(path), last_step=steps - 1)
        return loading.many_runs(ours, runs=runs, steps=steps)


@contextlib.contextmanager
def _both(logs: Path, cache: Path) -> Iterator[dict[str, Dashboard]]:
    """Both servers, each with all of the logs in memory."""
    from benchmarks.page import loading

    warm(logs)
    with pulseboard(logs, cache=cache) as ours, tensorboard(logs) as theirs:
        for dashboard in (ours, theirs):
            dashboard.wait_for_chart(loading.TAG, run_names(logs), last_step=description(logs)["steps"] - 1)
        _wait_for_diagnosis(ours)
        yield {PULSEBOARD: ours, TENSORBOARD: theirs}


def _wait_for_diagnosis(ours: Dashboard) -> None:
    """Return when every run is diagnosed: the work of a server's first minute would affect only some of the samples."""
    end = time.perf_counter() + _DIAGNOSIS_SECS
    while time.perf_counter() < end:
        _, body = ours.request("GET", "/api/diagnosis", **{"accept-encoding": "identity"})
        if not json.loads(body)["pending"]:
            return
        time.sleep(0.5)
    raise ToolFailed(f"Pulseboard had not diagnosed every run after {_DIAGNOSIS_SECS:.0f} s.")


def _chromium_version() -> str:
    from benchmarks.page.browser import chromium

    with chromium() as browser:
        return f"Chromium {browser.version}"


BENCHMARK = Benchmark(
    name="page",
    title="The page",
    packages=("playwright", "tensorboard", "tensorboard-data-server", "uvicorn"),
    description=__doc__,
    measure=measure,
    versions=_chromium_version,
    repeat=3,
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
