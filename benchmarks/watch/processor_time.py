"""What `pb.watch` adds to the processor time of a short step: `python -m benchmarks.watch.processor_time [blocks]`.

Two equal trainings in one process take turns, in blocks of steps and in random order; one of them is watched. Processor
time of all threads, not wall time: the figure depends little on what else the machine does.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time

import torch

import pulseboard as pb
from benchmarks.watch.training import Training

STEPS, WARM_UP = 5, 120


def main(arguments: list[str]) -> None:
    """Print one line."""
    blocks = int(arguments[0]) if arguments else 400
    torch.set_num_threads(1)
    trainings = {name: Training(width=96, context=64, batch=2) for name in ("without", "with")}
    secs: dict[str, list[float]] = {name: [] for name in trainings}
    watched = trainings["with"]
    with (
        tempfile.TemporaryDirectory() as directory,
        pb.init(dir=directory, run_id="r", telemetry_secs=0) as run,
        pb.watch(watched.model, watched.optimizer, run=run) as watch,
    ):
        for training in trainings.values():
            for _ in range(WARM_UP):
                training.step()
        for _ in range(blocks):
            for name in random.sample(list(trainings), 2):
                began = time.process_time()
                for _ in range(STEPS):
                    trainings[name].step()
                secs[name].append((time.process_time() - began) / STEPS)
        norm_every = watch.schedule.every("gradient_norm")
    added = [a - b for a, b in zip(secs["with"], secs["without"], strict=True)]
    base = statistics.mean(secs["without"])
    error = statistics.stdev(added) / len(added) ** 0.5
    print(
        f"{base * 1000:.1f} ms of processor time per step, {blocks * STEPS:,} steps each: "
        f"{statistics.mean(added) / base * 100:+.2f} % (standard error {error / base * 100:.2f}), "
        f"{statistics.median(added) / base * 100:+.2f} % in the median block; global_norm every {norm_every} steps"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
