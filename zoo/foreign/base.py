"""Foreign bases: trainings by other frameworks with their own loggers, healthy or with one fault from a table.

A base is a file in `zoo/bases/` with a constant BASE. Its logs go to DIR/runs/NAME, the truth about them to
DIR/truth/NAME.json, where no reader of the logs finds it.
"""

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import pkgutil
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from zoo import bases

HEALTHY = "healthy"
HEALTHY_SEEDS = range(5)
FAULT_SEEDS = range(10, 12)
ONSET_SHARE = 0.5  # of the training, where a sudden fault starts


@dataclass(frozen=True)
class BaseFault:
    """One fault of a base: the settings it changes, and the diagnosis that counts as correct."""

    name: str
    change: Mapping[str, Any]
    findings: tuple[str, ...] = ()  # slugs; one of them is enough
    causes: tuple[str, ...] = ()  # slugs that the curves allow; the first is what was done
    visible: bool = True  # False: what is logged looks like a healthy run, and counts as one


@dataclass
class Training:
    """One training in progress."""

    base: "Base"
    fault: str
    seed: int
    settings: SimpleNamespace
    onset_step: int | None = None  # None: the fault is there from the start

    @property
    def name(self) -> str:
        """The name of the run's directory."""
        return f"{self.base.name}-{self.fault}-{self.seed}"

    def onset(self, total: int, *, share: float = ONSET_SHARE, first: int = 0) -> int:
        """The step at which the fault starts, counted as in the log, which begins at `first`; kept for the truth."""
        self.onset_step = first + int(share * total)
        return self.onset_step


class Crash(RuntimeError):
    """The exception of trainings that die halfway."""


@dataclass(frozen=True)
class Base:
    """A training by one framework."""

    name: str
    framework: str
    log: str  # what it writes
    packages: tuple[str, ...]  # modules that must be installed
    settings: Mapping[str, Any]
    tiny: Mapping[str, Any]  # settings for a training of a second or two, which tests use
    faults: tuple[BaseFault, ...]
    train: Callable[[Training], None]
    preload: Callable[[], None] = field(default=lambda: None)  # imports the framework
    held_out: bool = False  # never used to choose thresholds and weights

    @property
    def missing(self) -> list[str]:
        """Packages that are not installed."""
        return [package for package in self.packages if importlib.util.find_spec(package) is None]

    def fault(self, name: str) -> BaseFault:
        """The fault of this name; HEALTHY changes nothing."""
        table = {HEALTHY: BaseFault(HEALTHY, {}), **{fault.name: fault for fault in self.faults}}
        if name not in table:
            raise SystemExit(f"There is no fault {name!r} for {self.name}. Choose from: {', '.join(table)}")
        return table[name]

    def planned(self) -> Iterator[tuple[str, int]]:
        """(fault, seed) of every training."""
        yield from ((HEALTHY, seed) for seed in HEALTHY_SEEDS)
        yield from ((fault.name, seed) for seed in FAULT_SEEDS for fault in self.faults)


def all_bases() -> dict[str, Base]:
    """Every foreign base by name. Its framework is not imported."""
    modules = [
        importlib.import_module(f"{bases.__name__}.{found.name}") for found in pkgutil.iter_modules(bases.__path__)
    ]
    found = {module.BASE.name: module.BASE for module in modules}
    assert len(found) == len(modules), "two bases have the same name"
    return found


def truth_path(directory: Path, name: str) -> Path:
    """The file with the truth about one training; it is written last, so it also marks the training as done."""
    return directory / "truth" / f"{name}.json"


def run_path(directory: Path, name: str) -> Path:
    """The directory with the logs of one training, and nothing else."""
    return directory / "runs" / name


def train(base: Base, *, fault: str, seed: int, directory: Path, tiny: bool = False) -> Path:
    """Train once and return the directory of its logs."""
    chosen = base.fault(fault)
    unknown = set(chosen.change) - set(base.settings)
    assert not unknown, f"{base.name} has no settings {unknown}"
    settings = {**base.settings, **chosen.change, **(base.tiny if tiny else {})}
    training = Training(base, fault, seed, SimpleNamespace(**settings))
    logs, truth = run_path(directory, training.name), truth_path(directory, training.name)
    shutil.rmtree(logs, ignore_errors=True)
    truth.unlink(missing_ok=True)
    logs.mkdir(parents=True)
    started_at, cpu_before = time.monotonic(), time.process_time()
    # Relative paths: the log must not contain the name of the fault.
    before = Path.cwd()
    os.chdir(logs)
    try:
        crashed = _train_here(training)
    finally:
        os.chdir(before)
    _write_truth(
        truth,
        training,
        chosen,
        crashed=crashed,
        took_secs=time.monotonic() - started_at,
        cpu_secs=time.process_time() - cpu_before,
    )
    return logs


def _train_here(training: Training) -> bool:
    try:
        training.base.train(training)
    except Crash:
        return True
    return False


def _write_truth(
    path: Path, training: Training, fault: BaseFault, *, crashed: bool, took_secs: float, cpu_secs: float
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(
        {
            "name": training.name,
            "base": training.base.name,
            "framework": training.base.framework,
            "log": training.base.log,
            "fault": fault.name,
            "seed": training.seed,
            "onset_step": training.onset_step,
            **_labels(training.base, fault),
            "change": {key: repr(value) for key, value in fault.change.items()},
            "crashed": crashed,
            # Far apart on a busy machine: the times in the log then show that machine, not the training.
            "took_secs": round(took_secs, 1),
            "cpu_secs": round(cpu_secs, 1),
        },
        indent=1,
    )
    path.write_text(text + "\n", encoding="utf-8")


def _labels(base: Base, fault: BaseFault) -> dict[str, Any]:
    """The part of the truth that can be corrected without training again."""
    return {
        "held_out": base.held_out,
        "visible": fault.visible and fault.name != HEALTHY,
        "findings": list(fault.findings),
        "causes": list(fault.causes),
    }


def refresh_labels(base: Base, directory: Path) -> None:
    """Write the labels of the current table into the truth of what was trained before."""
    for fault, seed in base.planned():
        path = truth_path(directory, f"{base.name}-{fault}-{seed}")
        if path.exists():
            truth = {**json.loads(path.read_text(encoding="utf-8")), **_labels(base, base.fault(fault))}
            path.write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")


@contextlib.contextmanager
def stdout_to(file: str) -> Iterator[None]:
    """Everything printed goes to a file, as with `python train.py > file 2>&1`; so does the traceback of a crash."""
    with (
        open(file, "w", encoding="utf-8", buffering=1) as stream,
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream),
    ):
        try:
            yield
        except Crash:
            traceback.print_exc(file=stream)
            raise


def main(base: Base) -> None:
    """The command line of a base."""
    parser = argparse.ArgumentParser(description=f"{base.framework}: {base.log}")
    parser.add_argument(
        "--dir", type=Path, required=True, help="logs go to DIR/runs, the truth about them to DIR/truth"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fault", default=HEALTHY, help="a fault, healthy, or all: everything planned and missing")
    parser.add_argument("--tiny", action="store_true", help="a training of a second or two")
    args = parser.parse_args()
    if base.missing:
        raise SystemExit(f"{base.name} is skipped: install {', '.join(base.missing)} (the extra `zoo`)")
    args.dir.mkdir(parents=True, exist_ok=True)
    directory = args.dir.resolve()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    base.preload()
    if args.fault != "all":
        print(train(base, fault=args.fault, seed=args.seed, directory=directory, tiny=args.tiny))
        return
    failed = [name for name in _train_missing(base, directory, tiny=args.tiny) if name]
    raise SystemExit(1 if failed else 0)


def _train_missing(base: Base, directory: Path, *, tiny: bool) -> Iterator[str]:
    """Train what is missing, each in a child process; yield the names of those that failed.

    A child starts with the framework imported, which takes longer than many of these trainings.
    """
    for fault, seed in base.planned():
        name = f"{base.name}-{fault}-{seed}"
        if truth_path(directory, name).exists():
            continue
        started_at = time.monotonic()
        child = os.fork()
        if child == 0:
            _train_and_exit(base, fault=fault, seed=seed, directory=directory, tiny=tiny)
        _, status = os.waitpid(child, 0)
        failed = not truth_path(directory, name).exists()
        print(f"{name}: {'failed' if failed else 'trained'} in {time.monotonic() - started_at:.0f} s", flush=True)
        yield name if failed or status else ""


def _train_and_exit(base: Base, *, fault: str, seed: int, directory: Path, tiny: bool) -> None:
    try:
        train(base, fault=fault, seed=seed, directory=directory, tiny=tiny)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)
