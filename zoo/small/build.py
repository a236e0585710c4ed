"""Build: train the cells that are missing, decide which faults leave a trace, and write logs and truth."""

import json
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from zoo.foreign.base import run_path, truth_path
from zoo.small.faults import fault_named
from zoo.small.plan import AGAIN, HEALTHY, Cell, cells
from zoo.small.record import Record
from zoo.small.trace import Trace, sound, trace

ATTEMPTS = 6


def build(directory: Path, *, jobs: int = 2, seeds: int = 1, only: str = "") -> list[str]:
    """Train what is missing; return the names of cells that failed."""
    # The tuning half first; kinds in turn, so that an early look sees all of them.
    planned = sorted(cells(seeds=seeds, only=only), key=lambda cell: (cell.held_out, cell.style.name, cell.seed))
    missing = [(one.kind.name, one.style.name, one.seed) for one in planned if not _done(one, directory)]
    failed, started_at = [], time.monotonic()
    if not missing:
        return failed
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        tasks = {pool.submit(build_cell, *one, directory): "-".join(map(str, one)) for one in missing}
        for task in as_completed(tasks):
            if task.exception() is not None:
                failed.append(f"{tasks[task]}: {task.exception()!r}")
    print(f"{len(missing)} cells trained in {time.monotonic() - started_at:.0f} s.", file=sys.stderr)
    return failed


def build_cell(kind: str, style: str, seed: int, directory: Path) -> None:
    """Train one cell."""
    from zoo.small.kind import all_kinds
    from zoo.small.style import all_styles

    cell = Cell(all_kinds()[kind], all_styles()[style], seed)
    first = int(cell.rng("seed").integers(1_000_000))
    for attempt in range(ATTEMPTS):
        settings = cell.settings(attempt)
        twin = cell.kind.train(settings, first)
        again = cell.kind.train(settings, first + 1)
        if sound(twin) and sound(again):
            break
    else:
        raise RuntimeError(f"no healthy settings in {ATTEMPTS} attempts")
    records: dict[str, tuple[Record, Trace]] = {HEALTHY: (twin, Trace(0.0, ())), AGAIN: (again, Trace(0.0, ()))}
    hidden = cell.unlogged()
    for name in cell.faults():
        fault = fault_named(name)
        changes = fault.changes(cell.rng(name))
        # The twin of a fault that needs another optimizer or schedule has it too.
        common = {k: v for k, v in changes.items() if k in ("optimizer", "schedule", "accumulate", "clip_norm")}
        base = settings.changed(common)
        own = (twin, again) if base == settings else tuple(cell.kind.train(base, first + i) for i in (0, 1))
        if not all(map(sound, own)):
            continue
        record = cell.kind.train(settings.changed(changes), first)
        seen = [one.without(hidden) for one in (record, *own)]
        records[name] = (record, trace(*seen, shows_in=fault.shows_in))
    for name, (record, found) in reversed(records.items()):  # the healthy one last: it marks the cell as done
        _write(cell, name, record.without(hidden), found, directory)


def _done(cell: Cell, directory: Path) -> bool:
    return truth_path(directory, f"{cell.name}-{HEALTHY}").exists()


def _write(cell: Cell, name: str, record: Record, found: Trace, directory: Path) -> None:
    run = f"{cell.name}-{name}"
    logs = run_path(directory, run)
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    with np.errstate(all="ignore"):
        cell.style.write(record, logs, cell.rng("style"))
    fault = None if name in (HEALTHY, AGAIN) else fault_named(name)
    truth = {
        "name": run,
        "base": cell.kind.name,
        "framework": cell.kind.name,
        "log": cell.style.name,
        "fault": name if fault else HEALTHY,
        "seed": cell.seed,
        "onset_step": None,
        "held_out": cell.held_out,
        "visible": found.visible,
        "shows": found.shows,
        "cost": found.cost,
        "findings": fault.findings if fault else (),
        "causes": fault.accepted_causes if fault else (),
    }
    path = truth_path(directory, run)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
