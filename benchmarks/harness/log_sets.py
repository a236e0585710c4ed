"""The log sets that benchmarks read. Each is made once and kept until the code that makes it changes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.harness import event_files
from benchmarks.harness import tags as tag_names
from benchmarks.harness.event_files import write_histograms, write_scalars
from benchmarks.harness.tags import TAGS

# A small run, as sweeps leave them behind by the thousand.
SMALL_TAGS, SMALL_STEPS = 10, 20
# Directories of many runs hold this many different ones, copied.
_ORIGINALS = 100


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a set is, and what it holds."""

    runs: int
    tags: int
    steps: int
    form: str  # simple, tensor or histogram


SETS = {
    "a": Shape(1, 20, 100_000, "simple"),
    "a_tensor": Shape(1, 20, 100_000, "tensor"),
    "b": Shape(100, 20, 2_000, "simple"),
    "c": Shape(1_000, 10, 200, "simple"),
    "d": Shape(1, 50, 200, "histogram"),
}


def make_sets(directory: Path, *, scale: float) -> dict[str, dict[str, Any]]:
    """Make the sets that are missing, with `scale` times their steps. The shape, events and bytes of each."""
    made = {}
    for name, shape in SETS.items():
        steps = max(2, int(shape.steps * scale))
        scaled = Shape(shape.runs, shape.tags, steps, shape.form)
        made[name] = _made_once(directory / name, asdict(scaled), lambda path, shape=scaled: _write_set(path, shape))
    return made


def _write_set(directory: Path, shape: Shape) -> dict[str, Any]:
    events = size_bytes = 0
    for number in range(shape.runs):
        run = directory / f"run_{number:04d}"
        if shape.form == "histogram":
            written = write_histograms(run, tags=shape.tags, steps=shape.steps, seed=number)
        else:
            tensors = shape.form == "tensor"
            written = write_scalars(run, tags=TAGS[: shape.tags], steps=shape.steps, seed=number, tensors=tensors)
        events += written.events
        size_bytes += written.size_bytes
    return {"events": events, "bytes": size_bytes}


def make_small_runs(directory: Path, count: int) -> Path:
    """A directory of `count` small runs."""
    return make_runs(directory, runs=count, tags=SMALL_TAGS, steps=SMALL_STEPS)


def make_runs(directory: Path, *, runs: int, tags: int, steps: int) -> Path:
    """A directory of runs of this size: a hundred different ones, copied."""
    path = directory / f"runs_{runs}x{tags}x{steps}"
    names = [*TAGS, *(f"more/tag_{i:03d}" for i in range(tags))][:tags]

    def write(into: Path) -> dict[str, Any]:
        for number in range(runs):
            run = into / f"run_{number:04d}"
            if number < _ORIGINALS:
                write_scalars(run, tags=names, steps=steps, seed=number)
            else:
                # Copies, not links: the reader counts a file with two links once.
                shutil.copytree(into / f"run_{number % _ORIGINALS:04d}", run)
        return {}

    _made_once(path, {"runs": runs, "tags": tags, "steps": steps}, write)
    return path


def description(path: Path) -> dict[str, Any]:
    """The shape of a set that was made."""
    made: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return made


def run_names(path: Path) -> list[str]:
    """The runs of a set."""
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir())


def _made_once(path: Path, shape: dict[str, Any], write: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Write the set unless it is there in this shape, made by this code. The file next to it describes it."""
    described = path.with_suffix(".json")
    wanted = {**shape, "made_by": _generator()}
    if described.is_file() and path.is_dir():
        found: dict[str, Any] = json.loads(described.read_text(encoding="utf-8"))
        if wanted.items() <= found.items():
            return found
    described.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)
    made = {**wanted, **write(path)}
    # Last: a set that was interrupted has no description, and is made again.
    described.write_text(json.dumps(made), encoding="utf-8")
    return made


@cache
def _generator() -> str:
    """A digest of the code that decides what is in the files."""
    sources = (Path(module.__file__ or "").read_bytes() for module in (event_files, tag_names))
    return hashlib.sha256(b"".join(sources)).hexdigest()[:16]
