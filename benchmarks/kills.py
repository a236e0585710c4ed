"""How many records a killed process loses: `python -m benchmarks.kills [kills per kind] [kind ...]`, or `make kills`.

Each child process logs records of one kind until SIGKILL ends it at a random moment. A call that had returned counts as
lost if its record cannot be read afterwards.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pulseboard as pb
from pulseboard.record.active_run import ActiveRun

_MAX_SECS = 0.05  # from the first call that returned to the kill
_PIXELS = np.random.default_rng(0).random((3, 64, 64))
_LARGE_PIXELS = np.random.default_rng(0).integers(0, 256, (512, 512, 3), dtype=np.uint8)
_NUMBERS = np.random.default_rng(0).normal(size=10_000)
_MANY_NUMBERS = np.random.default_rng(0).normal(size=1_000_000).astype(np.float32)

Log = Callable[[ActiveRun, int], None]
Count = Callable[[Path], int]


def _steps(tag: str, kind: str) -> Count:
    def count(directory: Path) -> int:
        runs = pb.read(directory)
        if not runs:
            return 0
        (run,) = runs.values()
        if tag not in run.tags():
            return 0
        if kind == "scalar":
            return len(run.series(tag))
        return len({value.step for value in run.values(tag, kind=kind)})

    return count


def _figure() -> Any:
    from matplotlib.figure import Figure  # not pyplot, which holds on to what it draws

    figure = Figure(figsize=(2, 2))
    figure.subplots().plot([0, 1], [1, 0])
    return figure


def _json_records(directory: Path) -> int:
    return sum(
        sum(record["log"] == "scalars" for record in json.loads(path.read_text()))
        for path in directory.rglob("training.json")
    )


KINDS: dict[str, tuple[Log, Count, str]] = {
    "scalars": (lambda run, i: run.log({"x": float(i)}, step=i), _steps("x", "scalar"), "tensorboard"),
    "texts": (lambda run, i: run.text("x", str(i), step=i), _steps("x", "text"), "tensorboard"),
    "tables": (lambda run, i: run.log({"x": pb.Table(["i"], [[i]])}, step=i), _steps("x", "text"), "tensorboard"),
    "audio": (lambda run, i: run.audio("x", _NUMBERS / 10, step=i), _steps("x", "audio"), "tensorboard"),
    "PR curves": (
        lambda run, i: run.pr_curve("x", [0, 1, 1], [0.1, 0.8, 0.6], step=i),
        _steps("x", "pr_curve"),
        "tensorboard",
    ),
    "figures": (lambda run, i: run.figure("x", _figure(), step=i), _steps("x", "image"), "tensorboard"),
    "histograms": (lambda run, i: run.histogram("x", _NUMBERS, step=i), _steps("x", "histogram"), "tensorboard"),
    "images": (lambda run, i: run.image("x", _PIXELS, step=i), _steps("x", "image"), "tensorboard"),
    "histograms of 10^6 numbers": (
        lambda run, i: run.histogram("x", _MANY_NUMBERS, step=i),
        _steps("x", "histogram"),
        "tensorboard",
    ),
    "images of 512 x 512 pixels": (
        lambda run, i: run.image("x", _LARGE_PIXELS, step=i),
        _steps("x", "image"),
        "tensorboard",
    ),
    "videos": (lambda run, i: run.video("x", _PIXELS[None].repeat(4, 0), step=i), _steps("x", "image"), "tensorboard"),
    "JSON log": (lambda run, i: run.log({"x": float(i)}, step=i), _json_records, "json"),
}


def kill_once(kind: str, chance: random.Random) -> tuple[int, int]:
    """The calls that returned, and how many of them cannot be read."""
    log, count, sink = KINDS[kind]
    returned = mmap.mmap(-1, 8)
    with tempfile.TemporaryDirectory() as directory:
        child = os.fork()
        if not child:
            run = pb.init(dir=directory, run_id="r", telemetry_secs=0, report_to=sink)
            i = 0
            while True:
                log(run, i)
                i += 1
                returned[:] = struct.pack("q", i)
        while not struct.unpack("q", returned[:])[0]:
            time.sleep(0.001)
        time.sleep(chance.random() * _MAX_SECS)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        calls: int = struct.unpack("q", returned[:])[0]
        return calls, max(0, calls - count(Path(directory)))


def main(arguments: list[str]) -> None:
    """Print one row per kind."""
    warnings.filterwarnings("ignore", message=".*multi-threaded.*fork.*", category=DeprecationWarning)
    kills = int(arguments[0]) if arguments else 200
    chance = random.Random(0)
    _figure().canvas.draw()  # fonts are found once, before the children are forked
    print("| Records | SIGKILLs | Calls that had returned | Lost | Most in one kill |\n| --- | --- | --- | --- | --- |")
    for kind in arguments[1:] or KINDS:
        results: list[Any] = [kill_once(kind, chance) for _ in range(kills)]
        calls, lost = (sum(column) for column in zip(*results, strict=True))
        print(f"| {kind} | {kills} | {calls:,} | {lost:,} | {max(lost for _, lost in results):,} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
