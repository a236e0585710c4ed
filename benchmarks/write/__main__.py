"""Measures what logging costs the training thread, for Pulseboard and other loggers.

    python -m benchmarks.write --write docs/benchmarks.md
    python -m benchmarks.write --quick        a smoke test; its figures mean nothing

Trackers that are not installed here get an environment of their own below .bench/ on the first full run; where that
is not possible the report says "not installed".
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.harness.command import Benchmark, measure_selected
from benchmarks.harness.paths import REPOSITORY, WORK
from benchmarks.harness.processes import run
from benchmarks.harness.report import Part, at_least, at_most, table
from benchmarks.harness.sampling import Quiet, Sample, ToolFailed, interleaved, median
from benchmarks.harness.tags import TAGS
from benchmarks.write.environments import python_for
from benchmarks.write.tools import TOOLS, Tool

NOT_INSTALLED = "not installed"
SLOW_REPEAT = 2


class Lineup:
    """The tools that take part, each with its interpreter, and why the others do not."""

    def __init__(self, *, quick: bool) -> None:
        self.pythons: dict[str, str] = {}
        self.absent: dict[str, str] = {}
        for tool in TOOLS.values():
            if quick and not tool.quick:
                self.absent[tool.id] = "not part of the smoke test"
                continue
            python = python_for(tool, install=not quick)
            if python is None:
                self.absent[tool.id] = NOT_INSTALLED
            else:
                self._try(tool, python)

    def _try(self, tool: type[Tool], python: str) -> None:
        self.pythons[tool.id] = python
        if tool.requirement is None:
            return
        # Trackers change their interfaces: one that fails is left out, and the rest is measured.
        try:
            self.measure(tool.id, "scalars", steps=2)
        except ToolFailed as error:
            BENCHMARK.log(f"{tool.id} does not run here: {error}")
            del self.pythons[tool.id]
            self.absent[tool.id] = "does not run here"

    def measure(self, name: str, mode: str, *, steps: int) -> Sample:
        """One sample, in a fresh process of the tool's interpreter."""
        # The tool's own files go below a directory that is removed, its working directory included.
        directory = Path(tempfile.mkdtemp(prefix=f"{name}_", dir=WORK))
        path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
        command = [self.pythons[name], "-m", "benchmarks.write.one_tool", name, str(directory / "log"), mode]
        try:
            output, taken = run([*command, str(steps)], cwd=directory, env={**os.environ, "PYTHONPATH": path})
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return {**json.loads(output.splitlines()[-1]), **taken}


def measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    """Scalars, then histograms."""
    steps, repeat = (200, 1) if options.quick else (5_000, options.repeat)

    @functools.cache
    def lineup() -> Lineup:
        BENCHMARK.log("looking for tools; those that are missing are installed")
        return Lineup(quick=options.quick)

    parts = {
        "scalars": lambda: _scalars(lineup(), quiet, steps=steps, repeat=repeat),
        "histograms": lambda: _histograms(lineup(), quiet, repeat=repeat),
    }
    return measure_selected(BENCHMARK, parts, options)


def _samples(
    lineup: Lineup, names: list[str], mode: str, quiet: Quiet, *, steps: int, repeat: int
) -> dict[str, list[Sample]]:
    measures = {name: lambda name=name: lineup.measure(name, mode, steps=steps) for name in names}
    # A sample of a tracker or of torch takes ten seconds, and what it costs is far from ours: fewer tell as much.
    repeats = {name: min(repeat, SLOW_REPEAT) if TOOLS[name].slow else repeat for name in names}
    return interleaved(measures, repeat=repeats, quiet=quiet)


def _scalars(lineup: Lineup, quiet: Quiet, *, steps: int, repeat: int) -> Part:
    names = [name for name in lineup.pythons if name != "torch_tensor"]  # differs in histograms only
    samples = _samples(lineup, names, "scalars", quiet, steps=steps, repeat=repeat)
    cost = {name: median(found, "caller_us_per_scalar") for name, found in samples.items()}
    size = {name: median(found, "bytes_per_scalar") for name, found in samples.items()}
    ours = cost["pulseboard"]
    rows = [
        (
            TOOLS[name].label,
            f"{cost[name]:.3f}",
            f"{cost[name] / ours:.1f}",
            f"{median(found, 'step_us_p50'):.1f}",
            f"{median(found, 'step_us_p99'):.1f}",
            f"{size[name]:.1f}",
            _found_on_disk(found[0]),
        )
        for name, found in samples.items()
    ]
    rows += [(TOOLS[name].label, reason, *["-"] * 5) for name, reason in lineup.absent.items()]
    checks = []
    if "torch" in cost:
        label = "time per scalar in the training thread: torch SummaryWriter / Pulseboard"
        checks.append(at_least(label, cost["torch"] / ours, 100))
    if "trackio" in cost:
        label = "time per scalar in the training thread: trackio / Pulseboard"
        checks.append(at_least(label, cost["trackio"] / ours, 4))
    if "torch" in size:
        label = "bytes on disk per scalar: Pulseboard / torch SummaryWriter"
        checks.append(at_most(label, size["pulseboard"] / size["torch"], 0.5))
    capped = f" ({TOOLS['mlflow'].label}: {TOOLS['mlflow'].max_steps} steps)" if "mlflow" in samples else ""
    headers = ("tool", "us per scalar", "x Pulseboard", "us per step, p50", "p99", "bytes per scalar", "found on disk")
    text = (
        f"What the training thread pays. Medians of {repeat} samples in turn ({SLOW_REPEAT} of a slow tool), each a "
        f"fresh process of {steps:,} steps of {len(TAGS)} scalars{capped}. Pulseboard's values have been handed to "
        "the operating system when the call returns; those of the others wait in a queue or a buffer, which a killed "
        "job loses.\n\n" + table(headers, rows)
    )
    return Part("Scalars", text, checks, samples)


def _found_on_disk(sample: Sample) -> str:
    return "not counted" if sample["stored"] is None else f"{sample['stored']:,} of {sample['scalars']:,}"


def _histograms(lineup: Lineup, quiet: Quiet, *, repeat: int) -> Part:
    names = [name for name in lineup.pythons if TOOLS[name].histograms]
    samples = _samples(lineup, names, "histograms", quiet, steps=0, repeat=repeat)
    millis = {name: median(found, "ms_per_call") for name, found in samples.items()}
    ours = millis["pulseboard"]
    rows = [(TOOLS[name].label, f"{ms:.2f}", f"{ms / ours:.1f}") for name, ms in millis.items()]
    rows += [(TOOLS[name].label, reason, "-") for name, reason in lineup.absent.items() if TOOLS[name].histograms]
    checks = []
    if "torch" in millis:
        theirs = min(millis["torch"], millis["torch_tensor"])
        label = "1M-element histogram in the training thread: torch SummaryWriter / Pulseboard"
        checks.append(at_least(label, theirs / ours, 10))
    text = "A histogram of 1,000,000 float32 values, milliseconds in the training thread.\n\n" + table(
        ("tool", "ms per call", "x Pulseboard"), rows
    )
    return Part("Histograms", text, checks, samples)


BENCHMARK = Benchmark(
    name="write",
    title="Writing",
    packages=("torch", "tensorboard", "tensorboardX", "wandb", "numpy"),
    description=__doc__,
    measure=measure,
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
