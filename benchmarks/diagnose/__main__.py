"""Measures diagnosis: a large run after the fact, and a long one live.

python -m benchmarks.diagnose --write docs/benchmarks.md
python -m benchmarks.diagnose --quick        a smoke test; its figures mean nothing
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import pulseboard as pb
from benchmarks.harness.command import Benchmark, measure_selected
from benchmarks.harness.paths import WORK
from benchmarks.harness.report import Check, Part
from benchmarks.harness.sampling import Quiet
from pulseboard.diagnose.live import Watcher

# What a well-instrumented training logs. The other tags have no role.
TAGS_WITH_ROLES = (
    "train/loss", "val/loss", "train/lr", "train/gradient/global_norm_before_clip", "train/update_ratio",
    "train/total_param_norm", "train/performance/step_time_ms", "train/performance/data_time_ms",
    "memory/ram_main_process_gb", "train/gradient_flow/zero_share",
)  # fmt: skip
TARGET_SECS = 1.0
TARGET_LIVE_SECS = 0.05


def measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    """Both ways."""
    steps, live_steps = (500, 5_000) if options.quick else (50_000, 1_000_000)
    parts: dict[str, Callable[[], Part]] = {
        "after the fact": lambda: _after_the_fact(steps=steps, tags=40, repeat=options.repeat),
        "live": lambda: _live(steps=live_steps, tags=50, repeat=options.repeat),
    }
    return measure_selected(BENCHMARK, parts, options)


def _values(tag: str, steps: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(len(tag))
    values: NDArray[np.float64] = 2 + np.exp(-np.arange(steps) / (steps / 5)) + rng.normal(size=steps) * 0.05
    return values


def _tags(count: int) -> list[str]:
    return [*TAGS_WITH_ROLES, *(f"other/metric_{i}" for i in range(count - len(TAGS_WITH_ROLES)))]


def _after_the_fact(*, steps: int, tags: int, repeat: int) -> Part:
    """Reading a finished run and diagnosing it, timed apart."""
    read_secs, diagnose_secs = [], []
    with tempfile.TemporaryDirectory(dir=WORK) as directory:
        curves = {tag: _values(tag, steps).tolist() for tag in _tags(tags)}
        with pb.init(dir=directory, telemetry_secs=0, config={"vocab_size": 90, "max_steps": steps}) as run:
            for step in range(steps):
                run.log({tag: values[step] for tag, values in curves.items()}, step=step)
        for _ in range(repeat):
            began = time.perf_counter()
            runs = pb.read(directory)
            middle = time.perf_counter()
            pb.diagnose(runs)
            read_secs.append(middle - began)
            diagnose_secs.append(time.perf_counter() - middle)
    reading, took = statistics.median(read_secs), statistics.median(diagnose_secs)
    check = Check(
        f"{steps * tags:,} scalars in {tags} tags, diagnosed after reading",
        f"{took:.2f} s, {took / reading:.1f} times the reading ({reading:.2f} s)",
        f"under {TARGET_SECS:g} s",
        took < TARGET_SECS,
    )
    return Part("", "", [check], {"read_s": read_secs, "diagnose_s": diagnose_secs})


def _live(*, steps: int, tags: int, repeat: int) -> Part:
    """Diagnosing a long run again after 100 new steps."""
    watcher = Watcher("run", "path", {"vocab_size": 90})
    names, past = _tags(tags), np.arange(steps)
    for tag in names:
        watcher.add_series(tag, past, past * 0.1, _values(tag, steps))
    watcher.report()
    wall_secs, cpu_secs = [], []
    for round_number in range(repeat):
        for step in range(100):
            new_step = steps + 100 * round_number + step
            watcher.scalars(dict.fromkeys(names, 2.1), step=new_step, wall_time=1e6 + step)
        began, cpu_began = time.perf_counter(), time.process_time()
        watcher.report()
        wall_secs.append(time.perf_counter() - began)
        cpu_secs.append(time.process_time() - cpu_began)
    took, cpu = statistics.median(wall_secs), statistics.median(cpu_secs)
    check = Check(
        f"live, after 100 new steps of a run of {steps:,} steps and {tags} tags",
        f"{1000 * took:.0f} ms ({1000 * cpu:.0f} ms of CPU)",
        f"under {1000 * TARGET_LIVE_SECS:.0f} ms",
        took < TARGET_LIVE_SECS,
    )
    return Part("", "", [check], {"wall_s": wall_secs, "cpu_s": cpu_secs})


BENCHMARK = Benchmark(name="diagnose", title="Diagnosis", packages=("numpy",), description=__doc__, measure=measure)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
