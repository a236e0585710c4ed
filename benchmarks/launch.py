"""launch: what `pulseboard run` costs a training that it watches.

    python -m benchmarks.launch --write docs/benchmarks.md
    python -m benchmarks.launch --quick        a smoke test; its figures mean nothing

The same torch training with and without, in turn. Counted is the processor time of the training's loop, which it prints
itself, so that neither imports nor other work on the machine count; and the end is compared bit for bit.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
from pathlib import Path

import pulseboard as pb
from benchmarks.harness.command import Benchmark, Missing, measure_selected
from benchmarks.harness.paths import WORK
from benchmarks.harness.processes import run
from benchmarks.harness.report import Check, Part, at_most, table
from benchmarks.harness.sampling import Quiet, Sample, interleaved, median

TARGET_PERCENT = 2.0

WARM_UP = 20

TRAINING = """
import sys, time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
layers = [one for _ in range(6) for one in (torch.nn.Linear(384, 384), torch.nn.ReLU())]
model = torch.nn.Sequential(*layers, torch.nn.Linear(384, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = torch.randn(4096, 384)
began = None
for step in range(int(sys.argv[1])):
    if step == int(sys.argv[2]):
        began = time.process_time()
    batch = data[torch.randint(0, 4096, (128,))]
    loss = (model(batch) - batch.mean(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.6f}")
print("END", time.process_time() - began, loss.item().hex())
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark alone."""
    # In a shorter one, what is measured in its first 200 steps is a larger share than in any training that matters.
    parser.add_argument("--steps", type=int, default=2500, metavar="N", help="length of the training (%(default)s)")


def measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    """The one part."""
    if importlib.util.find_spec("torch") is None:
        raise Missing("torch is not installed. Install it with: pip install 'pulseboard[torch]'")
    steps, repeat = (60, 1) if options.quick else (options.steps, options.repeat)
    return measure_selected(BENCHMARK, {"torch": lambda: _torch(quiet, steps=steps, repeat=repeat)}, options)


def _torch(quiet: Quiet, *, steps: int, repeat: int) -> Part:
    with tempfile.TemporaryDirectory(dir=WORK) as temporary:
        script = Path(temporary) / "train.py"
        script.write_text(TRAINING)
        training = [sys.executable, str(script), str(steps), str(WARM_UP)]
        measures = {"without": lambda: _without(training), "with": lambda: _with(training, Path(temporary))}
        samples = interleaved(measures, repeat=dict.fromkeys(measures, repeat), quiet=quiet)
    secs = {kind: median(found, "loop_cpu_s") for kind, found in samples.items()}
    ratios = [
        100 * (with_it["loop_cpu_s"] / without["loop_cpu_s"] - 1)
        for without, with_it in zip(samples["without"], samples["with"], strict=True)
    ]
    ends = {sample["end"] for found in samples.values() for sample in found}
    percent, pairs = statistics.median(ratios), ", ".join(f"{each:+.1f}" for each in ratios)
    checks = [
        at_most(
            "processor time that `pulseboard run` adds to the steps of a training, percent", percent, TARGET_PERCENT
        ),
        Check(
            "the last loss with and without `pulseboard run`",
            "the same bit for bit" if len(ends) == 1 else "different",
            "the same bit for bit",
            len(ends) == 1,
        ),
    ]
    text = (
        f"A training in plain torch of {steps:,} steps of {1e3 * secs['without'] / (steps - WARM_UP):.1f} ms on one "
        f"thread, with and without in turn ({repeat} pairs), without the diagnosis at the end. The first {WARM_UP} "
        f"steps do not count. Each pair: {pairs} percent. The run itself reports "
        f"{100 * median(samples['with'], 'reported'):.2f} percent.\n\n"
        + table(
            ("training", "CPU s of the steps", "CPU s of the whole process"),
            [(kind, f"{secs[kind]:.2f}", f"{median(found, 'cpu_s'):.2f}") for kind, found in samples.items()],
        )
    )
    return Part("A training in torch", text, checks, samples)


def _without(command: list[str]) -> Sample:
    env = {**os.environ, "PYTHONPATH": str(Path(pb.__file__).parents[1])}
    output, taken = run(command, env=env)
    _, took, end = output.decode().strip().splitlines()[-1].split()
    return {**taken, "loop_cpu_s": float(took), "end": end}


def _with(training: list[str], directory: Path) -> Sample:
    with tempfile.TemporaryDirectory(dir=directory) as logs:
        launcher = [sys.executable, "-m", "pulseboard", "run", "--dir", logs, "--no-diagnosis", "--"]
        sample = _without([*launcher, *training])
        (recorded,) = pb.read(logs).values()
        # The first value is of the steps in which everything is measured for the first time.
        reported = recorded.series("pulseboard/overhead").values
        return {**sample, "reported": float(statistics.median(reported[1:] if len(reported) > 1 else reported))}


BENCHMARK = Benchmark(
    name="launch",
    title="Starting a training with `pulseboard run`",
    packages=("torch", "numpy"),
    description=__doc__,
    measure=measure,
    add_options=add_options,
    repeat=2,
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
