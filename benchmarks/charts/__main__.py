"""Measures charts, lists and restarts without HTTP; `benchmarks.serve` measures the same with it.

    python -m benchmarks.charts --write docs/benchmarks.md
    python -m benchmarks.charts --quick        a smoke test; its figures mean nothing

Times are medians of wall time. CPU time is next to them: other processes lengthen the first and not the second.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulseboard as pb
from benchmarks.charts.tables import measure_tables
from benchmarks.harness.command import Benchmark, measure_selected
from benchmarks.harness.log_sets import make_runs
from benchmarks.harness.paths import LOGS, QUICK_LOGS, WORK
from benchmarks.harness.report import Check, Part, at_most, table
from benchmarks.harness.sampling import Quiet
from benchmarks.harness.tags import TAGS
from pulseboard.charts.index import Index
from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import Query, Smoothing
from pulseboard.serve.security.safe_regex import SafeRegex

ONE_TAG, OTHER_TAG = TAGS[:2]
PIXELS = 1000
TARGET_MS = 200.0
MAX_EXPRESSION = 2.0

Figures = dict[str, Any]


def measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    """Every part."""
    logs, repeat = (QUICK_LOGS, 3) if options.quick else (LOGS, options.repeat)
    many = [(100, 200), (100, 2_000)] if options.quick else [(100, 2_000), (100, 100_000)]
    lengths = [10**n for n in ((3, 4, 5) if options.quick else (3, 4, 5, 6, 7))]
    shape = (50, 20, 20) if options.quick else (1000, 200, 20)
    parts: dict[str, Callable[[], Part]] = {
        "charts of many runs": lambda: _charts_of_many_runs(logs, many, repeat),
        "expressions": lambda: _expressions(logs, 100, 200 if options.quick else 2_000, repeat),
        "charts of one run": lambda: _charts_of_one_run(logs, lengths, repeat),
        "lists and restarts": lambda: _lists(logs, *shape, repeat),
        "tables": lambda: measure_tables(logs, WORK, 200 if options.quick else 20_000, repeat),
    }
    return measure_selected(BENCHMARK, parts, options)


def _timed(work: Callable[[], object], repeat: int) -> Figures:
    """Medians of wall and CPU time in milliseconds, and the wall time of the first call."""
    walls, cpus = [], []
    for _ in range(repeat + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append((time.perf_counter() - wall) * 1e3)
        cpus.append((time.process_time() - cpu) * 1e3)
    return {
        "first_ms": walls[0],
        "ms": statistics.median(walls[1:]),
        "cpu_ms": statistics.median(cpus[1:]),
        "min_ms": min(walls[1:]),
    }


def _ms(figure: float) -> str:
    return f"{figure:.2f}" if figure < 10 else f"{figure:.0f}"


# ---- charts


def _charts_of_many_runs(logs: Path, shapes: list[tuple[int, int]], repeat: int) -> Part:
    samples = [_chart_of_many(logs, runs, steps, repeat) for runs, steps in shapes]
    rows = [
        (
            f"{found['runs']} x {found['steps']:,}",
            _ms(found["plain"]["first_ms"]),
            _ms(found["plain"]["ms"]),
            _ms(found["plain"]["cpu_ms"]),
            _ms(found["smooth"]["ms"]),
            f"{found['response_mb']:.1f}",
        )
        for found in samples
    ]
    text = f"One tag of many runs at {PIXELS} pixels, with the minimum and maximum of all points.\n\n" + table(
        ("runs x steps", "first ms", "ms", "CPU ms", "smoothed ms", "response MB"), rows
    )
    return Part("Charts of many runs", text, [], {"charts": samples})


def _chart_of_many(logs: Path, runs: int, steps: int, repeat: int) -> Figures:
    directory = make_runs(logs, runs=runs, tags=1 if steps > 10_000 else 20, steps=steps)
    charts = LocalCharts(pb.read(directory))
    names = list(charts.runs)
    smoothing = Smoothing("debiased", 0.9)
    plain = _timed(lambda: charts.window(Query(names, [ONE_TAG], buckets=PIXELS)), repeat)
    smooth = _timed(lambda: charts.window(Query(names, [ONE_TAG], buckets=PIXELS, smoothing=smoothing)), repeat)
    windows = charts.window(Query(names, [ONE_TAG], buckets=PIXELS))
    assert sum(window.points for window in windows) == runs * steps
    size_bytes = sum(column.nbytes for window in windows for column in window.columns.values())
    return {"runs": runs, "steps": steps, "plain": plain, "smooth": smooth, "response_mb": size_bytes / 1e6}


def _expressions(logs: Path, runs: int, steps: int, repeat: int) -> Part:
    """The first chart of an expression over two tags, and of one of them."""
    directory = make_runs(logs, runs=runs, tags=20, steps=steps)
    read = pb.read(directory)
    names = list(read)
    tags = {"plain": ONE_TAG, "expression": f"={ONE_TAG} - {OTHER_TAG}"}
    cpu_ms: dict[str, list[float]] = {kind: [] for kind in tags}
    for _ in range(repeat + 1):
        for kind, tag in tags.items():
            charts = LocalCharts(read)  # with no curve in memory
            began = time.process_time()
            charts.window(Query(names, [tag], buckets=PIXELS))
            cpu_ms[kind].append((time.process_time() - began) * 1e3)
    medians = {kind: statistics.median(found[1:]) for kind, found in cpu_ms.items()}
    check = at_most(
        f"first chart of an expression over two tags, {runs} x {steps:,}, in charts of one tag, CPU time",
        medians["expression"] / medians["plain"],
        MAX_EXPRESSION,
    )
    text = (
        "The difference of two tags, computed at full resolution for every run, compared with a chart of one of them. "
        "No curve is in memory, so that the expression reads twice as many points.\n\n"
        + table(("chart", "CPU ms"), [(kind, _ms(figure)) for kind, figure in medians.items()])
    )
    return Part("Expressions", text, [check], {"cpu_ms": cpu_ms})


def _charts_of_one_run(logs: Path, lengths: list[int], repeat: int) -> Part:
    samples = [_chart_of_one(logs, points, repeat) for points in lengths]
    shortest, longest = samples[0], samples[-1]
    ratio = longest["whole"]["cpu_ms"] / max(shortest["whole"]["cpu_ms"], 1e-3)
    check = Check(
        f"a chart of {longest['points']:,} points / of {shortest['points']:,}, CPU time",
        f"{ratio:.1f} times",
        "depends on pixels, not points",
    )
    rows = [
        (
            f"{found['points']:,}",
            _ms(found["whole"]["first_ms"]),
            _ms(found["whole"]["ms"]),
            _ms(found["whole"]["cpu_ms"]),
            _ms(found["zoom"]["ms"]),
        )
        for found in samples
    ]
    text = (
        f"One run at {PIXELS} pixels. Only the first chart copies the points and arranges them in blocks.\n\n"
        + table(("points", "first ms", "ms", "CPU ms", "zoomed to a tenth, ms"), rows)
    )
    return Part("Charts of one run", text, [check], {"charts": samples})


def _chart_of_one(logs: Path, points: int, repeat: int) -> Figures:
    directory = make_runs(logs, runs=1, tags=1, steps=points)
    charts = LocalCharts(pb.read(directory))
    [name] = charts.runs
    middle, width = points / 2, points / 20
    whole = _timed(lambda: charts.window(Query([name], [ONE_TAG], buckets=PIXELS)), 4 * repeat)
    zoomed = Query([name], [ONE_TAG], buckets=PIXELS, start=middle - width, end=middle + width)
    zoom = _timed(lambda: charts.window(zoomed), 4 * repeat)
    return {"points": points, "whole": whole, "zoom": zoom}


# ---- lists and restarts


def _lists(logs: Path, runs: int, tags: int, steps: int, repeat: int) -> Part:
    """Listing, filtering and opening a chart over many runs of many tags, in a process that starts with an index."""
    directory = make_runs(logs, runs=runs, tags=tags, steps=steps)
    cache = WORK / "charts_cache"
    shutil.rmtree(cache, ignore_errors=True)

    def start(index: Index) -> LocalCharts:
        return LocalCharts(pb.read(directory, cache=index))

    began = time.perf_counter()
    index = Index(cache)
    start(index)
    cold_ms = (time.perf_counter() - began) * 1e3
    index.close()
    restart = _timed(lambda: start(Index(cache)), max(repeat // 3, 2))
    charts = start(Index(cache))
    names, tag = list(charts.runs), charts.tag_summaries()[0].tag
    samples = {
        "restart with the index": restart,
        "list the runs": _timed(charts.run_summaries, repeat),
        "filter the runs": _timed(
            lambda: SafeRegex("run_.*7$").filter(run.name for run in charts.run_summaries()), repeat
        ),
        "list the tags": _timed(charts.tag_summaries, repeat),
        "chart one run": _timed(lambda: charts.window(Query(names[:1], [tag], buckets=PIXELS)), repeat),
        "chart one tag of all runs": _timed(lambda: charts.window(Query(names, [tag], buckets=PIXELS)), repeat),
    }
    index_mb = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file()) / 1e6
    shutil.rmtree(cache, ignore_errors=True)

    slowest = max(samples[name]["first_ms"] for name in ("list the runs", "filter the runs", "chart one run"))
    check = Check(
        f"{runs:,} runs x {tags} tags: list, filter, open a chart, slowest first call",
        f"{slowest:.0f} ms",
        f"under {TARGET_MS:.0f} ms",
        slowest < TARGET_MS,
    )
    rows = [("read everything, without an index", _ms(cold_ms), "-", "-")]
    rows += [(name, _ms(found["first_ms"]), _ms(found["ms"]), _ms(found["cpu_ms"])) for name, found in samples.items()]
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = (
        f"{runs:,} runs of {tags} tags; the index takes {index_mb:.0f} MB. Peak memory of the whole benchmark: "
        f"{peak_mb:.0f} MB.\n\n" + table(("work", "first ms", "ms", "CPU ms"), rows)
    )
    return Part("Lists and restarts", text, [check], {"cold_ms": cold_ms, "index_mb": index_mb, **samples})


BENCHMARK = Benchmark(
    name="charts", title="Charts", packages=("numpy",), description=__doc__, measure=measure, repeat=15
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
