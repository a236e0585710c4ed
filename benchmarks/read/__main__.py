"""Measures the reader: speed and memory next to other readers, many runs, following a growing log, other formats, S3,
CSV export.

python -m benchmarks.read --write docs/benchmarks.md
python -m benchmarks.read --quick        a smoke test; its figures mean nothing
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.harness.command import Benchmark, measure_selected
from benchmarks.harness.log_sets import make_sets
from benchmarks.harness.report import Part
from benchmarks.harness.sampling import Quiet
from benchmarks.read import exporting, following, many_runs, other_formats, remote, speed
from benchmarks.read.plan import full_plan, quick_plan
from benchmarks.read.scanner import build_scanner


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark alone."""
    add = parser.add_argument
    add("--slow-repeat", type=int, default=1, metavar="N", help="samples of EventAccumulator; 0 leaves it out")
    add("--slow-sets", default="a,d", metavar="NAMES", help="the sets that EventAccumulator reads")


def measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    """Every part."""
    if options.quick:
        plan = quick_plan(quiet)
    else:
        slow_sets = tuple(options.slow_sets.split(","))
        plan = full_plan(quiet, repeat=options.repeat, slow_repeat=options.slow_repeat, slow_sets=slow_sets)
    BENCHMARK.log("making the logs")
    sets = make_sets(plan.logs, scale=plan.scale)
    scanner = build_scanner()
    if scanner is None:
        BENCHMARK.log("the scanner is left out: it needs gcc and an x86-64 processor")
    parts = {
        "speed and memory": lambda: speed.measure(plan, sets, scanner=scanner),
        "many runs": lambda: many_runs.measure(plan),
        "following": lambda: following.measure(plan),
        "other formats": lambda: other_formats.measure(plan),
        "remote": lambda: remote.measure(plan),
        "exporting": lambda: exporting.measure(plan),
    }
    return measure_selected(BENCHMARK, parts, options)


BENCHMARK = Benchmark(
    name="read",
    title="Reading",
    packages=("numpy", "pandas", "polars", "tensorboard", "tensorboard-data-server", "watchfiles"),
    description=__doc__,
    measure=measure,
    add_options=add_options,
    repeat=3,
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
