"""The diagnosis's benchmark: a large run after the fact, and a long one live. Part of `make bench`.

.venv/bin/python benchmarks/diagnose.py --write docs/benchmarks.md
.venv/bin/python benchmarks/diagnose.py --quick        a smoke test; its figures mean nothing
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time

import numpy as np
from report import Check, checks_table, commit, machine, today, versions, write_section

import pulseboard as pb
from pulseboard.diagnose.diagnosis import diagnose
from pulseboard.diagnose.live import Watcher
from pulseboard.read.log import read

# What a well-watched training logs, and as many more that no role knows.
KNOWN = (
    "train/loss", "val/loss", "train/lr", "train/gradient/global_norm_before_clip", "train/update_ratio",
    "train/total_param_norm", "train/performance/step_time_ms", "train/performance/data_time_ms",
    "memory/ram_main_process_gb", "train/gradient_flow/zero_share",
)  # fmt: skip


def main() -> int:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", help="rewrite this Markdown file's section of the benchmark")
    parser.add_argument("--quick", action="store_true", help="a smoke test on small runs")
    options = parser.parse_args()
    steps, long_run = (500, 5_000) if options.quick else (50_000, 1_000_000)
    read_secs, diagnose_secs, scalars = _after_the_fact(steps=steps, tags=40)
    update_secs, cpu_secs = _live(points=long_run, tags=50)
    checks = [
        Check(
            f"{scalars:,} scalars in 40 tags, diagnosed after reading",
            f"{diagnose_secs:.2f} s, {diagnose_secs / read_secs:.1f} times the reading ({read_secs:.2f} s)",
            "< 1 s",
            None if options.quick else diagnose_secs < 1.0,
        ),
        Check(
            f"live, after 100 new steps of a run of {long_run:,} steps and 50 tags",
            f"{1000 * update_secs:.0f} ms ({1000 * cpu_secs:.0f} ms of CPU)",
            "< 50 ms",
            None if options.quick else update_secs < 0.05,
        ),
    ]
    warning = "**A smoke test: these figures mean nothing.**\n\n" if options.quick else ""
    body = (
        f"## Diagnosis\n\n{warning}{today()}, {commit()}; {machine()}; {versions('numpy')}. Load while it ran: "
        f"{os.getloadavg()[0]:.1f}. Medians of five.\n\n{checks_table(checks)}\n"
    )
    print(body)
    if options.write:
        write_section(options.write, name="diagnose", body=body)
    return 0 if all(check.holds is not False for check in checks) else 1


def _values(tag: str, points: int) -> np.ndarray:
    rng = np.random.default_rng(len(tag))
    return 2 + np.exp(-np.arange(points) / (points / 5)) + rng.normal(size=points) * 0.05


def _tags(count: int) -> list[str]:
    return [*KNOWN, *(f"other/metric_{i}" for i in range(count - len(KNOWN)))]


def _after_the_fact(*, steps: int, tags: int) -> tuple[float, float, int]:
    """(seconds of reading, seconds of diagnosis, scalars), medians of five."""
    with tempfile.TemporaryDirectory() as directory:
        curves = {tag: _values(tag, steps).tolist() for tag in _tags(tags)}
        with pb.init(dir=directory, telemetry_secs=0, config={"vocab_size": 90, "max_steps": steps}) as run:
            for step in range(steps):
                run.log({tag: values[step] for tag, values in curves.items()}, step=step)
        reading, diagnosing = [], []
        for _ in range(5):
            began = time.perf_counter()
            log = read(directory)
            middle = time.perf_counter()
            diagnose(log)
            reading.append(middle - began)
            diagnosing.append(time.perf_counter() - middle)
        return statistics.median(reading), statistics.median(diagnosing), steps * tags


def _live(*, points: int, tags: int) -> tuple[float, float]:
    """(seconds, seconds of CPU) of a look after 100 new steps, medians of five."""
    watcher = Watcher("run", "path", {"vocab_size": 90})
    names, steps = _tags(tags), np.arange(points)
    for tag in names:
        watcher.take_up(tag, steps, steps * 0.1, _values(tag, points))
    watcher.report()
    wall, cpu = [], []
    for look in range(5):
        for step in range(100):
            watcher.scalars(dict.fromkeys(names, 2.1), step=points + 100 * look + step, wall_time=1e6 + step)
        began, cpu_began = time.perf_counter(), time.process_time()
        watcher.report()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - cpu_began)
    return statistics.median(wall), statistics.median(cpu)


if __name__ == "__main__":
    sys.exit(main())
