"""Measures what `pb.watch` adds to a training step.

    python -m benchmarks.watch --write docs/benchmarks.md
    python -m benchmarks.watch --quick        a smoke test; its figures mean nothing

The reference trainer's GPT is trained in blocks of steps, with and without the tool, in turn, in one process: a busy
machine slows both down. wandb and trainscope are measured the same way if they are installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import statistics
import sys
import tempfile

from benchmarks.harness.command import Benchmark, Missing, measure_selected
from benchmarks.harness.paths import WORK
from benchmarks.harness.report import Check, Part, table
from benchmarks.harness.sampling import Quiet

TARGET_PERCENT = 2.0
# Of 25 steps each. What peers add is so much that fewer steps show it.
BLOCKS, PEERS_BLOCKS = 12, 4
QUANTILES = (0.01, 0.5, 0.99)

Times = dict[str, list[float]]  # seconds of each step, "with" and "without" the tool


def measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    """The one part."""
    if importlib.util.find_spec("torch") is None:
        raise Missing("torch is not installed. Install it with: pip install 'pulseboard[torch]'")
    return measure_selected(BENCHMARK, {"added time": lambda: _added_time(options)}, options)


def _added_time(options: argparse.Namespace) -> Part:
    """Every tool that is installed."""
    import torch

    from benchmarks.watch.tools import TOOLS, installed

    torch.set_num_threads(max(1, (os.cpu_count() or 2) - 1))  # one core is left for the tools' own threads
    steps, warm_up = (2, 1) if options.quick else (25, 20)
    measured: dict[str, Times] = {}
    absent = []
    for tool in TOOLS:
        if not installed(tool):
            absent.append(tool)
        else:
            BENCHMARK.log(tool)
            blocks = BLOCKS if tool == "pulseboard" else PEERS_BLOCKS
            measured[tool] = _step_times(tool, blocks=2 if options.quick else blocks, steps=steps, warm_up=warm_up)
    return _part(measured, absent)


def _step_times(tool: str, *, blocks: int, steps: int, warm_up: int) -> Times:
    """Step times without and with the tool: two trainings, stepped in blocks, in random order."""
    from benchmarks.watch.tools import TOOLS
    from benchmarks.watch.training import Training

    times: Times = {"without": [], "with": []}
    alone, watched = Training(), Training()
    with tempfile.TemporaryDirectory(dir=WORK) as directory, TOOLS[tool](watched, directory):
        for training in (alone, watched):
            for _ in range(warm_up):
                training.step()
        pair = [("without", alone), ("with", watched)]
        for _ in range(blocks):
            random.shuffle(pair)
            for name, training in pair:
                times[name] += [training.step() for _ in range(steps)]
    return times


def _part(measured: dict[str, Times], absent: list[str]) -> Part:
    from benchmarks.watch.training import Training

    added: list[tuple[str, ...]] = []
    step_rows: list[tuple[str, ...]] = []
    checks = []
    for tool, times in measured.items():
        # Sums, not medians: what runs every hundredth step shows in the sum only.
        percent = (sum(times["with"]) / sum(times["without"]) - 1) * 100
        quantiles = [(_quantile(times["with"], q) / _quantile(times["without"], q) - 1) * 100 for q in QUANTILES]
        added.append((tool, f"{percent:+.2f}", *(f"{each:+.2f}" for each in quantiles)))
        for name in ("with", "without"):
            step_rows.append((tool, name, *(f"{_quantile(times[name], q) * 1000:.1f}" for q in QUANTILES)))
        if tool == "pulseboard":
            label = "time that `pb.watch` adds to training, percent"
            checks.append(Check(label, f"{percent:.2f}", f"at most {TARGET_PERCENT:g}", percent <= TARGET_PERCENT))
    added += [(tool, "not installed", "-", "-", "-") for tool in absent]
    some = next(iter(measured.values()))["without"]
    counts = ", ".join(f"{len(times['with'])} with {tool}" for tool, times in measured.items())
    text = f"""\
The GPT of trainers/gpt.py with {Training().million_parameters():.1f} million parameters,
{statistics.median(some) * 1000:.0f} ms per step on the CPU; {counts} and each time as many without, in
blocks in turn, in one process. pulseboard measures norms at every step and the rest every 100 steps, histograms
included, and every 10 over the first 100; wandb writes histograms every 1000 steps by default, which is more than were
trained, and in the last row every 100; trainscope measures gradients and weights at every step.

Added time in percent: of all steps together, and of the 1st, 50th and 99th percentile. Anything below about one
percent, and anything negative, is noise.

{table(("tool", "all steps", "p1", "p50", "p99"), added)}

The steps themselves, in milliseconds:

{table(("tool", "", "p1", "p50", "p99"), step_rows, text_columns=2)}"""
    return Part("Added time", text, checks, measured)


def _quantile(times: list[float], quantile: float) -> float:
    return sorted(times)[int(quantile * (len(times) - 1))]


BENCHMARK = Benchmark(
    name="watch", title="Watching", packages=("torch", "wandb", "trainscope"), description=__doc__, measure=measure
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
