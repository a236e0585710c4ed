"""The logs that are read: the sets of make_logs.py, many small runs, and scan.c compiled. Each is made once."""

from __future__ import annotations

import importlib.util
import json
import platform
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pulseboard import SummaryWriter

SETS = ("a", "a_tensor", "b", "c", "d")

# A small run, as a sweep leaves thousands of them.
SMALL_TAGS, SMALL_STEPS = 10, 20
_MAKERS_STEPS = 1 << 21  # make_logs.py ends there, whatever it is asked for


class SharedMissing(Exception):
    """The scripts that make the logs are not beside the repository, so that nothing can be measured."""

    def __init__(self, shared: Path) -> None:
        super().__init__(
            "The benchmark's logs are made by make_logs.py and measured against scan.c, and they are not here. "
            f"Put the shared folder beside the repository, or name its bench folder with --shared. Missing: {shared}"
        )


def check_shared(shared: Path) -> None:
    """Raise SharedMissing unless the scripts are there."""
    if not (shared / "make_logs.py").is_file() or not (shared / "scan.c").is_file():
        raise SharedMissing(shared)


def make_sets(into: Path, *, shared: Path, scale: float) -> dict[str, dict[str, Any]]:
    """Make the sets that are missing. What make_logs.py tells of each: runs, tags, steps, events, bytes."""
    script = shared / "make_logs.py"
    missing = [name for name in SETS if not _made(into / f"{name}.json", by=script)]
    if missing:
        command = [sys.executable, str(script), str(into), "--sets", ",".join(missing), "--scale", str(scale)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {name: json.loads((into / f"{name}.json").read_text()) for name in SETS}


def make_scan(into: Path, *, shared: Path) -> Path | None:
    """Compile scan.c. None where the processor has not the instruction it is written for."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    scan, source = into / "scan", shared / "scan.c"
    if not _made(scan, by=source):
        subprocess.run(["gcc", "-O3", "-msse4.2", "-o", str(scan), str(source), "-lpthread"], check=True)
    return scan


def make_small_runs(into: Path, count: int, *, shared: Path) -> Path:
    """A directory of `count` small runs: a hundred different ones, copied."""
    directory, mark = into / f"small_{count}", into / f"small_{count}.json"
    if _made(mark, by=shared / "make_logs.py"):
        return directory
    maker = _module(shared / "make_logs.py")
    originals = []
    for seed in range(min(count, 100)):
        run = into / "small_originals" / f"run_{seed:03d}"
        maker.scalar_run(str(run), maker.TAGS[:SMALL_TAGS], SMALL_STEPS, seed, "simple")
        originals += sorted(run.iterdir())
    for i in range(count):
        # Copies and not links: the reader holds a file that two links lead to once.
        run = directory / f"run_{i:05d}"
        run.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(originals[i % len(originals)], run / originals[i % len(originals)].name)
    mark.write_text(json.dumps({"runs": count, "tags": SMALL_TAGS, "steps": SMALL_STEPS}))
    return directory


def make_runs(into: Path, *, runs: int, tags: int, steps: int, shared: Path) -> Path:
    """A directory of runs of this size: a hundred different ones, copied. The tags of make_logs.py come first."""
    directory = into / f"runs_{runs}x{tags}x{steps}"
    mark = directory.with_suffix(".json")
    if _made(mark, by=shared / "make_logs.py"):
        return directory
    shutil.rmtree(directory, ignore_errors=True)
    maker = _module(shared / "make_logs.py")
    names = [*maker.TAGS, *(f"more/tag_{i:03d}" for i in range(tags))][:tags]
    for i in range(runs):
        run = directory / f"run_{i:04d}"
        if steps > _MAKERS_STEPS:
            _write_run(run, names, steps, seed=i)
        elif i < 100:
            maker.scalar_run(str(run), names, steps, i, "simple")
        else:
            shutil.copytree(directory / f"run_{i % 100:04d}", run)
    mark.write_text(json.dumps({"runs": runs, "tags": tags, "steps": steps}))
    return directory


def _write_run(run: Path, tags: list[str], steps: int, *, seed: int) -> None:
    """A run that is longer than make_logs.py can make."""
    values = np.random.default_rng(seed).normal(1.0, 0.05, steps).tolist()
    with SummaryWriter(str(run)) as writer:
        for tag in tags:
            for step, value in enumerate(values):
                writer.add_scalar(tag, value, step)


def record_offsets(file: Path) -> list[int]:
    """Where each record of an event file begins, and where the last one ends."""
    # One record: u64 length, u32 checksum, `length` bytes, u32 checksum.
    data, at, offsets = file.read_bytes(), 0, [0]
    while at < len(data):
        at += 16 + struct.unpack_from("<Q", data, at)[0]
        offsets.append(at)
    return offsets


def only_file(directory: Path) -> Path:
    """The event file of a directory that holds exactly one."""
    (file,) = directory.rglob("*tfevents*")
    return file


def _made(what: Path, *, by: Path) -> bool:
    return what.exists() and what.stat().st_mtime >= by.stat().st_mtime


def _module(script: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
