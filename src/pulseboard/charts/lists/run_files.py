"""What run.json says of runs: whether they are running, have ended or have stalled, their forks, and their config."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pulseboard.core.config import flatten
from pulseboard.core.json_numbers import encode_number
from pulseboard.read.run import Run
from pulseboard.rundir.layout import RUN_FILE, recorded_directory
from pulseboard.rundir.run_file import Fork, find_run_file

RunState = Literal["running", "finished", "failed", "killed", "stalled"]

FileVersion = tuple[int, int, int]
"""Modification time, size and inode of a file: it is read again if one of them has changed."""

# A run written to within this time counts as running: slow trainings log every few minutes.
_LIVE_SECS = 300.0

_ENDED: dict[str, RunState] = {"finished": "finished", "failed": "failed", "killed": "killed"}
_MAX_DEPTH = 20


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The part of a run.json that lists, charts and tables show."""

    status: str | None
    last_active: float  # seconds since 1970; 0 if the file does not say
    fork: Fork | None
    has_artifacts: bool
    config: Mapping[str, float | str | bool | None]  # nested names joined by dots


_Version = tuple[FileVersion | None, RunRecord | None]
_NOTHING: _Version = (None, None)  # no file, or none that can be read


class RunFiles:
    """Reads each run.json once, and again if it has changed.

    Only a table looks at files of runs that have ended and not grown: looking at thousands of files for each list of
    runs would be slow.
    """

    def __init__(self) -> None:
        self.reads = 0
        """How many files were read."""
        self._known: dict[str, _Version] = {}  # by run
        self._current: set[str] = set()  # runs whose file need not be looked at
        self._restored: dict[str, _Version] = {}  # by directory, until it is first looked at
        self._lock = threading.Lock()

    def forget(self, run: str, *, removed: bool = False) -> None:
        """Look at its run.json again next time, because the run has changed."""
        with self._lock:
            self._current.discard(run)
            if removed:
                self._known.pop(run, None)

    def state(self, run: Run, now: float) -> RunState | None:
        """The state at a wall time; None if nothing is known except that nothing was written for a while."""
        record = self._record(run)
        status = record.status if record is not None else None
        if status in _ENDED:
            return _ENDED[status]
        heartbeat = record.last_active if record is not None else 0.0
        if now - max(run.last_written, heartbeat) < _LIVE_SECS:
            return "running"
        return "stalled" if status == "running" else None

    def has_artifacts(self, run: Run) -> bool:
        """Whether run.json lists artifacts."""
        record = self._record(run)
        return record is not None and record.has_artifacts

    def fork(self, run: Run) -> Fork | None:
        """What the run was forked from, if run.json says so."""
        known = self._known.get(run.name)
        # It never changes, and every curve of every chart asks.
        record = self._record(run) if known is None or known[1] is None else known[1]
        return None if record is None else record.fork

    def config(self, run: Run) -> Mapping[str, float | str | bool | None]:
        """The config, as it is in the file now."""
        record = self._look(run)
        return {} if record is None else record.config

    def _record(self, run: Run) -> RunRecord | None:
        with self._lock:
            if run.name in self._current:
                return self._known[run.name][1]
        return self._look(run)

    def _look(self, run: Run) -> RunRecord | None:
        directory = recorded_directory(run.directory)
        version = _version_of(directory)
        with self._lock:
            known, record = self._known.get(run.name) or self._restored.pop(directory, _NOTHING)
        if known is None or known != version:
            record = _read(directory) if version is not None else None
            self.reads += 1
        with self._lock:
            self._known[run.name] = version, record
            if record is None or record.status != "running":
                self._current.add(run.name)
        return record

    # ---- for the disk index

    def known(self, run: Run) -> tuple[str, FileVersion, RunRecord] | None:
        """The directory of a run.json, its version, and what it said; None if it was not read."""
        directory = recorded_directory(run.directory)
        with self._lock:
            version, record = self._known.get(run.name) or self._restored.get(directory, _NOTHING)
        return None if version is None or record is None else (directory, version, record)

    def restore(self, directory: str, version: FileVersion, record: RunRecord) -> None:
        """What an earlier process read. It counts if the file has not changed since."""
        self._restored[directory] = version, record


def shown(value: Any) -> float | str | bool | None:
    """A value of a config as tables show it."""
    if isinstance(value, float):
        return encode_number(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    return json.dumps(value, ensure_ascii=False)


def flat(config: Mapping[str, Any]) -> dict[str, float | str | bool | None]:
    """A config as tables show it: nested names joined by dots."""
    return {name: shown(value) for name, value in flatten(config, max_depth=_MAX_DEPTH)}


def _version_of(directory: str) -> FileVersion | None:
    try:
        status = os.stat(os.path.join(directory, RUN_FILE), follow_symlinks=False)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(directory: str) -> RunRecord | None:
    file = find_run_file(directory)
    if file is None:
        return None
    return RunRecord(file.status, file.last_active, file.fork, bool(file.fields.get("artifacts")), flat(file.config))
