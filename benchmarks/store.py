"""The store's benchmark: what charts, lists and restarts cost without HTTP. Part of `make bench`.

    .venv/bin/python benchmarks/store.py --write docs/benchmarks.md
    .venv/bin/python benchmarks/store.py --quick        a smoke test; its figures mean nothing

Times are medians of wall time; CPU times are beside them, as other processes lengthen the first and not the second.
benchmarks/serve.py asks the same by HTTP, beside TensorBoard.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from report import REPOSITORY, Check, checks_table, commit, machine, table, today, versions, write_section

import pulseboard as pb
from pulseboard.native.kernel import EventWriter, frame
from pulseboard.store.index import Index
from pulseboard.store.query import Query, Smoothing
from pulseboard.store.store import Store

BENCH = REPOSITORY / ".bench" / "store"
PIXELS = 1000
_CHUNK = 100_000
# The version record: wall time 1.0, "brain.Event:2".
_VERSION = frame(b"\x09\x00\x00\x00\x00\x00\x00\xf0\x3f\x1a\x0dbrain.Event:2")

Figures = dict[str, Any]


def main() -> int:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", help="rewrite this Markdown file's section of the benchmark")
    parser.add_argument("--quick", action="store_true", help="a smoke test on small sets")
    parser.add_argument("--repeat", type=int, default=15, help="samples of each figure")
    options = parser.parse_args()
    repeat = 3 if options.quick else options.repeat
    many = [(100, 200), (100, 2_000)] if options.quick else [(100, 2_000), (100, 100_000)]
    lengths = [10**n for n in ((3, 4, 5) if options.quick else (3, 4, 5, 6, 7))]
    small = (50, 20, 20) if options.quick else (1000, 200, 50)
    BENCH.mkdir(parents=True, exist_ok=True)
    charts = [_chart_of_many(runs, steps, repeat) for runs, steps in many]
    growth = [_chart_of_one(points, repeat) for points in lengths]
    lists = _lists(*small, repeat)
    body = _body(charts, growth, lists, smoke=options.quick)
    print(body)
    if options.write:
        write_section(options.write, name="store", body=body)
    samples = {"charts": charts, "growth": growth, "lists": lists}
    (BENCH.parent / ("store_quick.json" if options.quick else "store.json")).write_text(json.dumps(samples, indent=1))
    return 0


# ---- logs


def _make(directory: Path, *, runs: int, tags: int, steps: int) -> Path:
    """A log directory of random walks, made once."""
    mark = directory / "made.json"
    want = {"runs": runs, "tags": tags, "steps": steps}
    if mark.is_file() and json.loads(mark.read_text()) == want:
        return directory
    shutil.rmtree(directory, ignore_errors=True)
    names = ["loss"] if tags == 1 else [f"part_{i // 20}/quantity_{i}" for i in range(tags)]
    for number in range(runs):
        run = directory / f"run_{number:04d}"
        run.mkdir(parents=True)
        _write(run / "events.out.tfevents.1", names, steps, seed=number)
    mark.write_text(json.dumps(want))
    return directory


def _write(path: Path, names: list[str], steps: int, *, seed: int) -> None:
    rng = np.random.default_rng(seed)
    writer = EventWriter()
    with path.open("wb") as stream:
        stream.write(_VERSION)
        for begin in range(0, steps, _CHUNK):
            values = rng.normal(size=(min(_CHUNK, steps - begin), len(names))).tolist()
            for i, row in enumerate(values, begin):
                writer.scalars(dict(zip(names, row, strict=True)), i, 1.7e9 + seed + i * 0.1, None)
            stream.write(writer.take())


# ---- measuring


def _timed(call: Callable[[], object], repeat: int) -> Figures:
    """Medians of wall and CPU time in milliseconds, and those of the first call."""
    walls, cpus = [], []
    for _ in range(repeat + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        walls.append((time.perf_counter() - wall) * 1e3)
        cpus.append((time.process_time() - cpu) * 1e3)
    return {
        "first_ms": walls[0],
        "ms": statistics.median(walls[1:]),
        "cpu_ms": statistics.median(cpus[1:]),
        "least_ms": min(walls[1:]),
    }


def _chart_of_many(runs: int, steps: int, repeat: int) -> Figures:
    directory = _make(BENCH / f"{runs}_runs_{steps}", runs=runs, tags=1, steps=steps)
    store = Store(pb.read(directory))
    names = list(store.log)
    smoothing = Smoothing("debiased", 0.9)
    plain = _timed(lambda: store.window(Query(names, ["loss"], buckets=PIXELS)), repeat)
    smooth = _timed(lambda: store.window(Query(names, ["loss"], buckets=PIXELS, smoothing=smoothing)), repeat)
    windows = store.window(Query(names, ["loss"], buckets=PIXELS))
    assert sum(window.points for window in windows) == runs * steps
    size = sum(column.nbytes for window in windows for column in window.columns.values())
    return {"runs": runs, "steps": steps, "plain": plain, "smooth": smooth, "answer_mb": size / 1e6}


def _chart_of_one(points: int, repeat: int) -> Figures:
    directory = _make(BENCH / f"one_run_{points}", runs=1, tags=1, steps=points)
    store = Store(pb.read(directory))
    [name] = store.log
    middle, width = points / 2, points / 20
    whole = _timed(lambda: store.window(Query([name], ["loss"], buckets=PIXELS)), 4 * repeat)
    zoomed = Query([name], ["loss"], buckets=PIXELS, start=middle - width, end=middle + width)
    zoom = _timed(lambda: store.window(zoomed), 4 * repeat)
    return {"points": points, "whole": whole, "zoom": zoom}


def _lists(runs: int, tags: int, steps: int, repeat: int) -> Figures:
    """Listing, filtering and opening a chart over many runs of many tags, in a process that starts with an index."""
    directory = _make(BENCH / f"{runs}_runs_of_{tags}", runs=runs, tags=tags, steps=steps)
    cache = BENCH / "cache"
    shutil.rmtree(cache, ignore_errors=True)

    def start(index: Index) -> Store:
        return Store(pb.read(directory, cache=index))

    began = time.perf_counter()
    index = Index(cache)
    start(index)
    cold_ms = (time.perf_counter() - began) * 1e3
    index.close()
    restart = _timed(lambda: start(Index(cache)), max(repeat // 3, 2))
    store = start(Index(cache))
    names, tag = list(store.log), store.tags()[0].tag
    out = {
        "runs": runs,
        "tags": tags,
        "cold_ms": cold_ms,
        "restart": restart,
        "list": _timed(store.runs, repeat),
        "filter": _timed(lambda: store.runs("run_.*7$"), repeat),
        "tags_list": _timed(store.tags, repeat),
        "one_chart": _timed(lambda: store.window(Query(names[:1], [tag], buckets=PIXELS)), repeat),
        "chart_of_all": _timed(lambda: store.window(Query(names, [tag], buckets=PIXELS)), repeat),
        "index_mb": sum(path.stat().st_size for path in cache.rglob("*") if path.is_file()) / 1e6,
    }
    shutil.rmtree(cache, ignore_errors=True)
    return out


# ---- telling


def _ms(figure: float) -> str:
    return f"{figure:.2f}" if figure < 10 else f"{figure:.0f}"


def _body(charts: list[Figures], growth: list[Figures], lists: Figures, *, smoke: bool) -> str:
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    first, last = growth[0]["whole"], growth[-1]["whole"]
    slowest = max(lists[name]["first_ms"] for name in ("list", "filter", "one_chart"))
    checks = [
        Check(
            f"a chart of {growth[-1]['points']:,} points beside one of {growth[0]['points']:,}, CPU",
            f"{last['cpu_ms'] / max(first['cpu_ms'], 1e-3):.1f} times",
            "pixels, not points",
            None,
        ),
        Check(
            f"{lists['runs']:,} runs x {lists['tags']} tags: list, filter, open a chart, the slowest first call",
            f"{slowest:.0f} ms",
            "< 200 ms",
            None if smoke else slowest < 200,
        ),
    ]
    many = table(
        ("runs x steps", "first ms", "ms", "CPU ms", "smoothed ms", "answer MB"),
        [
            (
                f"{c['runs']} x {c['steps']:,}",
                _ms(c["plain"]["first_ms"]),
                _ms(c["plain"]["ms"]),
                _ms(c["plain"]["cpu_ms"]),
                _ms(c["smooth"]["ms"]),
                f"{c['answer_mb']:.1f}",
            )
            for c in charts
        ],
    )
    one = table(
        ("points", "first ms", "ms", "CPU ms", "a tenth of it, ms"),
        [
            (
                f"{g['points']:,}",
                _ms(g["whole"]["first_ms"]),
                _ms(g["whole"]["ms"]),
                _ms(g["whole"]["cpu_ms"]),
                _ms(g["zoom"]["ms"]),
            )
            for g in growth
        ],
    )
    rows = [("read everything, without an index", lists["cold_ms"], None)]
    rows += [
        (what, lists[name]["first_ms"], lists[name])
        for what, name in (
            ("start again, with the index", "restart"),
            ("list the runs", "list"),
            ("filter them", "filter"),
            ("list the tags", "tags_list"),
            ("a chart of one run", "one_chart"),
            ("a chart of one tag over all runs", "chart_of_all"),
        )
    ]
    listed = table(
        ("work", "first ms", "ms", "CPU ms"),
        [(w, _ms(f), _ms(m["ms"]) if m else "-", _ms(m["cpu_ms"]) if m else "-") for w, f, m in rows],
    )
    warning = "**A smoke test: these figures mean nothing.**\n\n" if smoke else ""
    return (
        f"## The store\n\n{warning}{today()}, {commit()}; {machine()}; {versions('numpy')}. Load while it ran: "
        f"{os.getloadavg()[0]:.1f}. Peak memory of the process: {peak_mb:.0f} MB.\n\n{checks_table(checks)}\n\n"
        f"One tag of many runs at {PIXELS} pixels, with the least and the greatest of all points:\n\n{many}\n\n"
        f"One run at {PIXELS} pixels. The first chart copies and blocks the points, the others do not:\n\n{one}\n\n"
        f"{lists['runs']:,} runs of {lists['tags']} tags; the index takes {lists['index_mb']:.0f} MB:\n\n{listed}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
