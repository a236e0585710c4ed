"""The logs that are charted: runs with one series or many, all values of a step in one event as Pulseboard records."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from pulseboard.kernel.writer import EventWriter
from pulseboard.tbformat.event import version_event

ONE_TAG = "loss"
_CHUNK_STEPS = 100_000


def make_log(directory: Path, *, runs: int, tags: int, steps: int) -> Path:
    """A log directory of random values, made once."""
    mark = directory / "made.json"
    shape = {"runs": runs, "tags": tags, "steps": steps}
    if mark.is_file() and json.loads(mark.read_text(encoding="utf-8")) == shape:
        return directory
    shutil.rmtree(directory, ignore_errors=True)
    names = [ONE_TAG] if tags == 1 else [f"part_{i // 20}/metric_{i}" for i in range(tags)]
    for number in range(runs):
        run = directory / f"run_{number:04d}"
        run.mkdir(parents=True)
        _write(run / "events.out.tfevents.1", names, steps, seed=number)
    mark.write_text(json.dumps(shape), encoding="utf-8")
    return directory


def _write(path: Path, names: list[str], steps: int, *, seed: int) -> None:
    rng = np.random.default_rng(seed)
    writer = EventWriter()
    writer.record(version_event(wall_time=1.0))
    with path.open("wb") as stream:
        for begin in range(0, steps, _CHUNK_STEPS):
            values = rng.normal(size=(min(_CHUNK_STEPS, steps - begin), len(names))).tolist()
            for step, row in enumerate(values, begin):
                writer.scalars(dict(zip(names, row, strict=True)), step, 1.7e9 + seed + step * 0.1, float)
            stream.write(writer.take())
