"""Measures the dashboard's server, and TensorBoard's for comparison.

    python -m benchmarks.serve --write docs/benchmarks.md
    python -m benchmarks.serve --quick        a smoke test; its figures mean nothing

Both servers are started over the same logs, in turn, and get requests for the same charts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from benchmarks.harness.command import Benchmark, measure_selected
from benchmarks.harness.dashboards import require_tensorboard
from benchmarks.harness.log_sets import make_runs
from benchmarks.harness.paths import LOGS, QUICK_LOGS, WORK
from benchmarks.harness.report import Part
from benchmarks.harness.sampling import Quiet
from benchmarks.serve import charts, live, requests


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark alone."""
    parser.add_argument("--load-secs", type=float, default=20.0, metavar="SECS", help="how long the load lasts")


def measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    """Every part."""
    require_tensorboard()
    quick, repeat = options.quick, 1 if options.quick else options.repeat
    logs, cache = QUICK_LOGS if quick else LOGS, WORK / "cache"
    BENCHMARK.log("making the logs")
    runs, tags = (10, 5) if quick else (100, 20)
    short = make_runs(logs, runs=runs, tags=tags, steps=200 if quick else 2_000)
    long = make_runs(logs, runs=runs, tags=1, steps=2_000 if quick else 100_000)
    lengths = (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
    rounds = 3 if quick else 10
    parts: dict[str, Callable[[], Part]] = {
        "first chart": lambda: charts.first_chart(short, cache, quiet, repeat=repeat),
        "charts": lambda: charts.charts([short, long], cache, quiet, rounds=rounds),
        "points": lambda: charts.by_points(logs, cache, lengths=lengths, rounds=rounds),
        "many runs": lambda: requests.many_runs(logs, cache, quick=quick, rounds=rounds),
        "very many runs": lambda: requests.very_many_runs(
            logs, cache, runs=100 if quick else 10_000, secs=1.0 if quick else 20.0
        ),
        "live runs": lambda: live.measure(WORK / "live", cache, runs=5 if quick else 100, secs=2.0 if quick else 30.0),
        "load": lambda: requests.under_load(short, cache, secs=0.5 if quick else options.load_secs),
    }
    return measure_selected(BENCHMARK, parts, options)


BENCHMARK = Benchmark(
    name="serve",
    title="Serving",
    packages=("numpy", "tensorboard", "tensorboard-data-server", "uvicorn", "uvloop", "httptools"),
    description=__doc__,
    measure=measure,
    add_options=add_options,
    repeat=3,
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
