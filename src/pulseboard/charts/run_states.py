"""Whether runs are running, have ended or have stalled."""

from __future__ import annotations

import threading
from typing import Literal

from pulseboard.read.run import Run
from pulseboard.rundir.layout import recorded_directory
from pulseboard.rundir.run_file import Fork, RunFile, find_run_file

RunState = Literal["running", "finished", "failed", "killed", "stalled"]

# A run written to within this time counts as running: slow trainings log every few minutes.
_LIVE_SECS = 300.0

_ENDED: dict[str, RunState] = {"finished": "finished", "failed": "failed", "killed": "killed"}


class RunStates:
    """The states of runs, from run.json and from when their files last changed.

    run.json is read once, and again while it says that the run is running or after the run has grown: reading
    thousands of files for each list of runs would be slow.
    """

    def __init__(self) -> None:
        self._files: dict[str, RunFile | None] = {}
        self._forks: dict[str, Fork | None] = {}
        self._lock = threading.Lock()

    def forget(self, run: str) -> None:
        """Read run.json again next time, because the run has changed."""
        with self._lock:
            self._files.pop(run, None)

    def of(self, run: Run, now: float) -> RunState | None:
        """The state at a wall time; None if nothing is known except that nothing was written for a while."""
        return self.of_recorded(run, now)[0]

    def of_recorded(self, run: Run, now: float) -> tuple[RunState | None, bool]:
        """The state, and whether run.json lists artifacts."""
        file = self._file(run)
        return _state(run, file, now), file is not None and bool(file.fields.get("artifacts"))

    def fork(self, run: Run) -> Fork | None:
        """What the run was forked from, if run.json says so."""
        with self._lock:
            if run.name in self._forks:
                return self._forks[run.name]
        file = self._file(run)
        if file is None:
            return None
        with self._lock:  # it never changes, so it is read once, for every curve of the run
            self._forks[run.name] = file.fork
        return file.fork

    def _file(self, run: Run) -> RunFile | None:
        with self._lock:
            if run.name in self._files:
                return self._files[run.name]
        file = find_run_file(recorded_directory(run.directory))
        if file is None or file.status != "running":
            with self._lock:
                self._files[run.name] = file
        return file


def _state(run: Run, file: RunFile | None, now: float) -> RunState | None:
    status = file.status if file is not None else None
    if status in _ENDED:
        return _ENDED[status]
    heartbeat = file.last_active if file is not None else 0.0
    if now - max(run.last_written, heartbeat) < _LIVE_SECS:
        return "running"
    return "stalled" if status == "running" else None
