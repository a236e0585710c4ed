"""Directories of runs: a new one with a fresh id, or the one of a run to resume."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path

from pulseboard.core.errors import PulseboardError
from pulseboard.rundir import layout
from pulseboard.rundir.run_file import find_run_file

_ID = re.compile(r"(\d{4}-\d{2}-\d{2})_(\d{3,})(?:-.*)?")
_MAX_NAME_CHARS = 120


class NoRunToResume(PulseboardError):
    """The run to resume does not exist."""


def new_run_directory(log_directory: Path, *, run_id: str | None, run_tag: str | None, today: datetime.date) -> Path:
    """Create the directory of a new run: `<date>_<three digits>`, followed by `-<run tag>` if there is one.

    Trainings that start at the same time get different numbers, whatever their tags.
    """
    log_directory.mkdir(parents=True, exist_ok=True)
    suffix = f"-{_path_component(run_tag)}" if run_tag else ""
    if run_id is not None:
        directory = log_directory / (_path_component(run_id) + suffix)
        directory.mkdir(parents=True, exist_ok=True)
        return directory
    date = today.isoformat()
    with _lock(log_directory):
        numbers = [int(m[2]) for name in os.listdir(log_directory) if (m := _ID.fullmatch(name)) and m[1] == date]
        number = max(numbers, default=0) + 1
        while True:
            directory = log_directory / f"{date}_{number:03d}{suffix}"
            try:
                directory.mkdir()
            except FileExistsError:
                number += 1
            else:
                return directory


@contextlib.contextmanager
def _lock(log_directory: Path) -> Iterator[None]:
    """Keep other processes from choosing a number at the same time, on file systems that support locks."""
    directory = log_directory / layout.COORDINATION_DIRECTORY
    directory.mkdir(exist_ok=True)
    with open(directory / "lock", "a", encoding="utf-8") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run_to_resume(log_directory: Path, which: str) -> Path:
    """The directory of the run named `which`; with 'latest', of the run that was active last."""
    if which == "latest":
        return _latest_run(log_directory)
    directory = log_directory / which
    if not directory.is_dir():
        similar = [path.name for path in log_directory.glob(f"*{_glob_literal(which)}*") if path.is_dir()]
        hint = f"Did you mean {max(similar)!r}?" if similar else "`pulseboard ls` lists the runs."
        raise NoRunToResume(f"There is no run {which!r} to resume. {hint} Looked in {log_directory}")
    return directory


def _latest_run(log_directory: Path) -> Path:
    runs = [path.parent for path in log_directory.glob(f"*/{layout.RUN_FILE}")]
    if not runs:
        raise NoRunToResume(f"There is no run to resume yet: no {layout.RUN_FILE} in {log_directory}")
    return max(runs, key=lambda directory: (_last_active(directory), directory.name))


def _last_active(directory: Path) -> float:
    run_file = find_run_file(directory, trusted=True)
    return run_file.last_active if run_file else 0.0


def _glob_literal(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)


def _path_component(name: str) -> str:
    cleaned = re.sub(r"[^\w.+=@-]+", "-", name).strip("-.") or "run"
    return cleaned[:_MAX_NAME_CHARS]
