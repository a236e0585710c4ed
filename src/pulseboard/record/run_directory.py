"""Directories of runs: a new one with a fresh id, or the one of a run to resume."""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pulseboard.core.errors import PulseboardError
from pulseboard.record.liveness import is_recorded_elsewhere
from pulseboard.record.messages import warn
from pulseboard.rundir import layout
from pulseboard.rundir.run_file import RunFile, find_run_file

_ID = re.compile(r"(\d{4}-\d{2}-\d{2})_(\d{3,})(?:-.*)?")
_MAX_NAME_CHARS = 120
# Choosing a name takes milliseconds.
_LOCK_SECS, _LOCK_RETRY_SECS = 10.0, 0.01


class NoRunToResume(PulseboardError):
    """The run to resume does not exist."""


class RunIsAlive(PulseboardError):
    """The run to resume is still being recorded by another process."""


class RunDirectory(NamedTuple):
    """Where to record, and whether that continues a run."""

    path: Path
    resumed: bool


def open_run_directory(
    log_directory: Path,
    *,
    run_id: str | None,
    run_tag: str | None,
    resume: str | None,
    process: Mapping[str, Any],
    today: datetime.date,
) -> RunDirectory:
    """The directory for a run.

    `resume` is None for a new run, 'latest', 'allow' (continue if there is something to continue) or a run's id.
    `process` describes this process as in run.json: 'latest' is the latest run of the same tag or else program.
    """
    if resume is None:
        return RunDirectory(new_run_directory(log_directory, run_id=run_id, run_tag=run_tag, today=today), False)
    if resume != "allow":
        latest = resume == "latest"
        path = _latest(log_directory, run_tag, process) if latest else _named(log_directory, resume)
        return RunDirectory(_not_alive(path), True)
    if run_id is not None:
        path = log_directory / _directory_name(run_id, run_tag)
        if _has_run(path):
            return RunDirectory(_not_alive(path), True)
    else:
        with contextlib.suppress(NoRunToResume):
            return RunDirectory(_not_alive(_latest(log_directory, run_tag, process)), True)
    return RunDirectory(new_run_directory(log_directory, run_id=run_id, run_tag=run_tag, today=today), False)


def new_run_directory(log_directory: Path, *, run_id: str | None, run_tag: str | None, today: datetime.date) -> Path:
    """Create the directory of a new run: `<date>_<three digits>`, followed by `-<run tag>` if there is one.

    Trainings that start at the same time get different numbers, whatever their tags. If there is a run of the given
    id, the new one gets a number after it, with a message.
    """
    log_directory.mkdir(parents=True, exist_ok=True)
    with _lock(log_directory):
        if run_id is not None:
            return _new_named_directory(log_directory, _directory_name(run_id, run_tag))
        suffix = f"-{_path_component(run_tag)}" if run_tag else ""
        date = today.isoformat()
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


def _new_named_directory(log_directory: Path, name: str) -> Path:
    directory, number = log_directory / name, 1
    while _has_run(directory):
        number += 1
        directory = log_directory / f"{name}-{number}"
    if number > 1:
        warn(
            f"There is a run {name!r} already, so this one is {directory.name!r}. To continue it, pass resume='allow'."
        )
    directory.mkdir(parents=True, exist_ok=True)
    # Before the lock is released: the next process that wants this name must see that it is taken.
    (directory / layout.EVENTS_DIRECTORY).mkdir(parents=True, exist_ok=True)
    return directory


def _has_run(directory: Path) -> bool:
    return (directory / layout.RUN_FILE).exists() or (directory / layout.EVENTS_DIRECTORY).is_dir()


@contextlib.contextmanager
def _lock(log_directory: Path) -> Iterator[None]:
    """Keep other processes from choosing a name at the same time, on file systems that support locks.

    A process that was stopped, or a file server, may hold the lock forever. Names are then chosen without it: making a
    numbered directory fails if another process has made it.
    """
    directory = log_directory / layout.COORDINATION_DIRECTORY
    directory.mkdir(exist_ok=True)
    # O_NONBLOCK: there may be a pipe in place of the file.
    fd = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
    try:
        if not _locked(fd):
            warn(f"Another process has held a lock for {_LOCK_SECS:g} s; continuing without it. {directory / 'lock'}")
        yield
    finally:
        os.close(fd)


def _locked(fd: int) -> bool:
    """Wait for the lock. Returns False if it was not free in time."""
    end = time.monotonic() + _LOCK_SECS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                return True  # a file system without locks
        if time.monotonic() > end:
            return False
        time.sleep(_LOCK_RETRY_SECS)


# ---- resuming


def _named(log_directory: Path, which: str) -> Path:
    directory = log_directory / which
    if not directory.is_dir():
        similar = [path.name for path in log_directory.glob(f"*{_glob_literal(which)}*") if path.is_dir()]
        hint = f"Did you mean {max(similar)!r}?" if similar else "`pulseboard ls` lists the runs."
        raise NoRunToResume(f"There is no run {which!r} to resume. {hint} Looked in {log_directory}")
    return directory


def _latest(log_directory: Path, run_tag: str | None, process: Mapping[str, Any]) -> Path:
    """The run of the same tag, or without one of the same program, that was active last.

    Runs of the very same command come first: a program may be running with other arguments at the same time.
    """
    runs = [path.parent for path in log_directory.glob(f"*/{layout.RUN_FILE}")]
    found = [(run_file, path) for path in runs if (run_file := find_run_file(path, trusted=True)) is not None]
    if not found:
        raise NoRunToResume(f"There is no run to resume yet: no {layout.RUN_FILE} in {log_directory}")
    if run_tag:
        matching = [(run, path) for run, path in found if path.name.endswith(f"-{_path_component(run_tag)}")]
        wanted = f"with the tag {run_tag!r}"
    else:
        matching = [(run, path) for run, path in found if _program(run.fields) == _program(process)]
        wanted = f"of {_program(process) or 'this program'}"
        same_command = [(run, path) for run, path in matching if run.fields.get("command") == process.get("command")]
        matching = same_command or [(run, path) for run, path in matching if not is_recorded_elsewhere(path)]
    if not matching:
        names = ", ".join(sorted(path.name for _, path in found)[-3:])
        raise NoRunToResume(
            f"There is no run {wanted} to resume. Others are here ({names}): resume one by its id. In {log_directory}"
        )
    return max(matching, key=_last_active)[1]


def _last_active(run: tuple[RunFile, Path]) -> tuple[float, str]:
    run_file, path = run
    return run_file.last_active, path.name


def _program(fields: Mapping[str, Any]) -> str:
    """The name of the program's file. Files of earlier versions only have the whole command."""
    program = fields.get("program")
    if isinstance(program, str):
        return os.path.basename(program)
    words = str(fields.get("command") or "").split()
    return os.path.basename(words[1]) if len(words) > 1 else ""


def _not_alive(directory: Path) -> Path:
    if is_recorded_elsewhere(directory):
        fields = getattr(find_run_file(directory, trusted=True), "fields", {})
        raise RunIsAlive(
            f"The run {directory.name!r} is still being recorded, by process {fields.get('pid')} on "
            f"{fields.get('host')}. Wait until it ends, or start a new run. {directory}"
        )
    return directory


def _glob_literal(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)


def _directory_name(run_id: str, run_tag: str | None) -> str:
    return _path_component(run_id) + (f"-{_path_component(run_tag)}" if run_tag else "")


def _path_component(name: str) -> str:
    cleaned = re.sub(r"[^\w.+=@-]+", "-", name).strip("-.") or "run"
    return cleaned[:_MAX_NAME_CHARS]
