"""Collect: diagnose every run below many folders, in a few processes, and keep the results.

Results are kept by a hash of Pulseboard's source files, so scoring the same code again takes a second.
"""

import hashlib
import json
import signal
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import pulseboard
from pulseboard.core.errors import PulseboardError
from pulseboard.diagnose.cases import Training, case_of, trainings
from pulseboard.diagnose.diagnosis import report_on
from pulseboard.read.runs import read
from zoo.scoring.headlines import Headline, checks_run, first_causes, headlines

TIMEOUT_SECS = 180
# Different values that two runs must share to be the same training; fewer may be equal by chance.
MIN_SHARED_POINTS = 5
SOURCE_FILES = ("*.py", "*.toml", "*.so")


@dataclass(frozen=True)
class Diagnosed:
    """One run and its diagnosis, small enough to keep."""

    folder: str  # collection/folder
    run: str
    names: tuple[str, ...]  # everything it may be called: its name, aliases, directory and files, below the folder
    status: str
    headlines: tuple[Headline, ...]
    causes: tuple[str, ...]  # best first
    checks: int  # that could run
    logged_steps: int
    points: int
    same_as: str = ""  # the run of this folder that holds the same training

    @property
    def id(self) -> str:
        """The run's name in the files of verdicts."""
        return f"{self.folder}/{self.run}"


@dataclass(frozen=True)
class Folder:
    """The diagnosed runs of one folder, or the reason why there are none."""

    name: str
    runs: tuple[Diagnosed, ...] = ()
    error: str = ""
    took_secs: float = 0.0


@dataclass(frozen=True)
class Collected:
    """All folders."""

    folders: tuple[Folder, ...] = field(default=())

    @property
    def runs(self) -> list[Diagnosed]:
        """Every run."""
        return [run for folder in self.folders for run in folder.runs]

    @property
    def errors(self) -> dict[str, str]:
        """Why a folder has no runs."""
        return {folder.name: folder.error for folder in self.folders if folder.error}


def collect(folders: dict[str, Path], cache: Path, *, jobs: int = 2, timeout_secs: int = TIMEOUT_SECS) -> Collected:
    """Diagnose the folders (name -> path), except those that were diagnosed before by the same code."""
    cache = cache / source_hash()
    cache.mkdir(parents=True, exist_ok=True)
    files = {name: cache / f"{name.replace('/', '+')}.{_state_of(path)}.json" for name, path in folders.items()}
    missing = [name for name, file in files.items() if not file.exists()]
    if missing:
        # A fresh interpreter per process: forking one that has started threads may hang.
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            tasks = [pool.submit(diagnose_folder, name, folders[name], timeout_secs) for name in missing]
            for n, task in enumerate(as_completed(tasks), start=1):
                folder = task.result()
                files[folder.name].write_text(json.dumps(asdict(folder)), encoding="utf-8")
                if sys.stderr.isatty():
                    print(f"\r{n} of {len(missing)} folders, {folder.name:<60.60}", end="", file=sys.stderr, flush=True)
        print(f"\r{len(missing)} folders diagnosed{'':<60}", file=sys.stderr)
    return Collected(tuple(_folder(json.loads(files[name].read_text(encoding="utf-8"))) for name in folders))


def save(collected: Collected, path: Path) -> None:
    """Keep a state, to score it again with later verdicts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(folder) for folder in collected.folders]), encoding="utf-8")


def load(path: Path) -> Collected:
    """A state that was kept."""
    return Collected(tuple(map(_folder, json.loads(path.read_text(encoding="utf-8")))))


def source_hash() -> str:
    """A hash of the files that a diagnosis depends on."""
    root, here = Path(pulseboard.__file__).parent, Path(__file__)
    files = sorted(path for pattern in SOURCE_FILES for path in root.rglob(pattern))
    digest = hashlib.sha256()
    for path in (*files, here, here.with_name("headlines.py")):
        digest.update(f"{path.name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _state_of(folder: Path) -> str:
    """A short hash of the files below a folder: their names, sizes and times."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


def diagnose_folder(name: str, path: Path, timeout_secs: int = TIMEOUT_SECS) -> Folder:
    """Diagnose every training below one folder. Never raises; a folder that takes too long is an error."""
    started_at = time.monotonic()
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(timeout_secs)
    try:
        found = sorted(trainings(read(path)), key=lambda training: training.name)
        same = _same_trainings(found)
        runs = tuple(_diagnosed(name, path, one, same.get(one.name, "")) for one in found)
        error = "" if runs else "no runs"
    except TimeoutError:
        runs, error = (), f"not finished after {timeout_secs} s"
    except PulseboardError as problem:
        runs, error = (), str(problem)
    except Exception as problem:  # one folder must not cost the others' scores
        runs, error = (), f"{type(problem).__name__}: {problem}"
    finally:
        signal.alarm(0)
    return Folder(name, runs, error, round(time.monotonic() - started_at, 2))


def _give_up(*_: Any) -> None:
    raise TimeoutError


def _diagnosed(folder: str, path: Path, training: Training, same_as: str) -> Diagnosed:
    report = report_on(case_of(training))
    logged_steps, points = _logged(training)
    return Diagnosed(
        folder=folder,
        run=training.name,
        names=_names(training, path),
        status=report.status,
        headlines=tuple(headlines(report)),
        causes=tuple(first_causes(report)),
        checks=checks_run(report),
        logged_steps=logged_steps,
        points=points,
        same_as=same_as,
    )


def _names(training: Training, path: Path) -> tuple[str, ...]:
    names = [training.name]
    for _, run in training.parts:
        names += [run.name, *run.aliases]
        names += [_below(file, path) for file in (run.directory, run.path, *run.paths())]
    return tuple(dict.fromkeys(names))


def _below(file: str, folder: Path) -> str:
    path = Path(file)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()


def _logged(training: Training) -> tuple[int, int]:
    """The points of the longest loss, or the distinct steps if nothing is called a loss; and all points."""
    losses, steps, points = [0], [np.empty(0, np.int64)], 0
    for _, run in training.parts:
        for tag in run.tags("scalar"):
            series = run.series(tag)
            points += len(series)
            steps.append(series.steps)
            if "loss" in tag.lower():
                losses.append(len(series))
    return max(losses) or len(np.unique(np.concatenate(steps))), points


def _same_trainings(found: Iterable[Training]) -> dict[str, str]:
    """Runs that repeat another: one of their losses is the start of, or equal to, one of the other's.

    The longest run of a training stands for it.
    """
    kept: list[tuple[str, list[np.ndarray]]] = []
    same: dict[str, str] = {}
    curves = [(training.name, _losses(training)) for training in found]
    for name, losses in sorted(curves, key=lambda one: (-sum(map(len, one[1])), one[0])):
        twin = next((other for other, longer in kept if _repeats(losses, longer)), None)
        if twin is None:
            kept.append((name, losses))
        else:
            same[name] = twin
    return same


def _losses(training: Training) -> list[np.ndarray]:
    found = []
    for _, run in training.parts:
        for tag in run.tags("scalar"):
            if "loss" in tag.lower() or "reward" in tag.lower():
                values = run.series(tag).values
                if len(np.unique(values)) >= MIN_SHARED_POINTS:
                    found.append(values)
    return found


def _repeats(losses: list[np.ndarray], longer: list[np.ndarray]) -> bool:
    longest = max(map(len, losses), default=0)
    for mine in losses:
        # A short one, of a first phase, is the same in every run with the same seed.
        if 2 * len(mine) < longest:
            continue
        for other in longer:
            # Formats keep different numbers of digits.
            start = other[: len(mine)]
            if len(start) == len(mine) and np.allclose(start, mine, rtol=1e-4, atol=0, equal_nan=True):
                return True
    return False


def _folder(stored: dict[str, Any]) -> Folder:
    runs = []
    for run in stored["runs"]:
        lines = tuple(
            Headline(**{**line, "slugs": tuple(line["slugs"]), "causes": tuple(line["causes"])})
            for line in run["headlines"]
        )
        runs.append(
            Diagnosed(**{**run, "headlines": lines, "names": tuple(run["names"]), "causes": tuple(run["causes"])})
        )
    return Folder(stored["name"], tuple(runs), stored["error"], stored["took_secs"])
