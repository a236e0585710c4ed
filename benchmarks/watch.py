"""The watching benchmark: what `pb.watch` adds to a training step. Part of `make bench`.

    .venv/bin/python benchmarks/watch.py --write docs/benchmarks.md
    .venv/bin/python benchmarks/watch.py --quick        a smoke test; its figures mean nothing

The reference trainer's GPT is trained in blocks of steps, with and without, in turn, in one process: what the machine
does meanwhile meets both. wandb's and trainscope's own watching are measured the same way where they are installed.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import torch
from report import REPOSITORY, Check, checks_table, commit, machine, shown_path, table, today, versions, write_section

sys.path.insert(0, str(REPOSITORY))
sys.path.insert(0, str(REPOSITORY / "trainers"))
from gpt import GPT, Block

BENCH = REPOSITORY / ".bench"
VOCABULARY, CONTEXT, WIDTH, LAYERS, HEADS, BATCH = 512, 128, 192, 4, 6, 8


class Training:
    """A model and its steps, timed one by one."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        blocks = [Block(WIDTH, HEADS, 0.0) for _ in range(LAYERS)]
        self.model = GPT(vocab_size=VOCABULARY, block_size=CONTEXT, n_embd=WIDTH, dropout=0.0, blocks=blocks)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4)
        self.ids = torch.randint(0, VOCABULARY, (BATCH, CONTEXT + 1))
        self.before_update: Callable[[torch.Tensor, int], None] = lambda loss, step: None
        self.after: Callable[[int], None] = lambda step: None
        self.steps = 0

    def step(self) -> float:
        began = time.perf_counter()
        _, loss = self.model(self.ids[:, :-1], self.ids[:, 1:])
        self.optimizer.zero_grad()
        loss.backward()
        self.before_update(loss, self.steps)
        self.optimizer.step()
        self.after(self.steps)
        self.steps += 1
        return time.perf_counter() - began


@contextlib.contextmanager
def pulseboard_watch(training: Training, out: str) -> Iterator[None]:
    """`pb.watch` with its defaults, histograms included."""
    import pulseboard as pb

    with pb.init(dir=out, run_id="r", telemetry_secs=0) as run, pb.watch(training.model, training.optimizer, run=run):
        yield


@contextlib.contextmanager
def wandb_watch(training: Training, out: str, *, log_freq: int = 1000) -> Iterator[None]:
    """`wandb.watch` with gradients and parameters, at its default of every 1000 steps; and its log call."""
    import wandb

    os.environ.update(WANDB_SILENT="true", WANDB_ERROR_REPORTING="false", WANDB_DIR=out)
    run = wandb.init(mode="offline", dir=out, settings=wandb.Settings(x_disable_stats=True, console="off"))
    run.watch(training.model, log="all", log_freq=log_freq)
    training.after = lambda step: run.log({"step": step})
    try:
        yield
    finally:
        training.after = lambda step: None
        run.unwatch(training.model)
        run.finish()


@contextlib.contextmanager
def trainscope_watch(training: Training, out: str) -> Iterator[None]:
    """`TrainScope` with its defaults, called as its read-me says: between backward and the optimizer."""
    from trainscope import TrainScope, TrainScopeConfig

    scope = TrainScope(training.model, training.optimizer, config=TrainScopeConfig(run_dir=out)).attach()
    training.before_update = lambda loss, step: scope.step(loss.item(), batch_index=step)
    try:
        yield
    finally:
        training.before_update = lambda loss, step: None
        scope.detach()


TOOLS: dict[str, Callable[[Training, str], contextlib.AbstractContextManager[None]]] = {
    "pulseboard": pulseboard_watch,
    "trainscope": trainscope_watch,
    "wandb": wandb_watch,
    "wandb, every 100 steps": functools.partial(wandb_watch, log_freq=100),
}


def available() -> list[str]:
    """The tools that are installed."""
    return [tool for tool in TOOLS if importlib.util.find_spec(tool.partition(",")[0])]


def measure(tool: str, *, blocks: int, steps: int) -> dict[str, list[float]]:
    """Step times without and with the tool: two trainings, stepped in blocks, in an order drawn anew each time."""
    times: dict[str, list[float]] = {"without": [], "with": []}
    alone, watched = Training(), Training()
    with tempfile.TemporaryDirectory(dir=BENCH) as out, TOOLS[tool](watched, out):
        for training in (alone, watched):
            for _ in range(20):
                training.step()
        pairs = [("without", alone), ("with", watched)]
        for _ in range(blocks):
            random.shuffle(pairs)
            for name, training in pairs:
                times[name] += [training.step() for _ in range(steps)]
    return times


def main() -> int:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", help="rewrite this Markdown file's section of the benchmark")
    parser.add_argument("--quick", action="store_true", help="a smoke test of a few steps")
    options = parser.parse_args()
    BENCH.mkdir(exist_ok=True)
    torch.set_num_threads(max(1, (os.cpu_count() or 2) - 1))  # one core is left for the tools' own threads
    blocks, steps = (2, 5) if options.quick else (16, 25)
    measured = {tool: measure(tool, blocks=blocks, steps=steps) for tool in available()}
    body = _body(options, measured)
    print(body)
    if options.write:
        write_section(options.write, name="watch", body=body)
    (BENCH / "watch.json").write_text(json.dumps(measured))
    return 0


def _body(options: argparse.Namespace, measured: dict[str, dict[str, list[float]]]) -> str:
    rows: list[tuple[str, ...]] = []
    steps: list[tuple[str, ...]] = []
    checks = []
    for tool, times in measured.items():
        # Sums, not medians: what runs every hundredth step is in the sum only.
        ratio = sum(times["with"]) / sum(times["without"])
        p1, p50, p99 = (_ratio(times, q) for q in (0.01, 0.5, 0.99))
        rows.append((tool, f"{(ratio - 1) * 100:+.2f}", *(f"{(p - 1) * 100:+.2f}" for p in (p1, p50, p99))))
        for name in ("with", "without"):
            ms = [_at(times[name], q) * 1000 for q in (0.01, 0.5, 0.99)]
            steps.append((tool, name, *(f"{each:.1f}" for each in ms)))
        if tool == "pulseboard":
            figure = (ratio - 1) * 100
            owed = ("-", None) if options.quick else ("<= 2", figure <= 2)
            checks.append(Check("time that `pb.watch` adds to training, per cent", f"{figure:.2f}", owed[0], owed[1]))
    step_ms = statistics.median(measured["pulseboard"]["without"]) * 1000
    n = len(measured["pulseboard"]["without"])
    parameters = sum(p.numel() for p in Training().model.parameters()) / 1e6
    command = ".venv/bin/python benchmarks/watch.py" + (" --quick" if options.quick else "")
    command += f" --write {shown_path(options.write)}" if options.write else ""
    return f"""\
## Watching

`{command}`, {today()}, commit {commit()}. {machine()}; {versions("torch", "wandb", "trainscope")}.
The GPT of trainers/gpt.py, {parameters:.1f} million parameters, {step_ms:.0f} ms a step on the CPU; {n:,} steps with
and as many without, in blocks in turn, in one process. pulseboard measures norms at each step and the rest every 100
steps, histograms included, and every 10 over the first 100; wandb writes histograms every 1000 steps by default, which
are more than there were, and in the last row every 100; trainscope looks at gradients and weights at each step.

{checks_table(checks)}

Added time in per cent: of all steps together, and of the 1st, 50th and 99th percentile. Below about one per cent, and
wherever it is negative, it is the machine's noise.

{table(("tool", "all steps", "p1", "p50", "p99"), rows)}

The steps themselves, in milliseconds:

{table(("tool", "", "p1", "p50", "p99"), steps)}
"""


def _ratio(times: dict[str, list[float]], quantile: float) -> float:
    return _at(times["with"], quantile) / _at(times["without"], quantile)


def _at(times: list[float], quantile: float) -> float:
    return sorted(times)[int(quantile * (len(times) - 1))]


if __name__ == "__main__":
    sys.exit(main())
