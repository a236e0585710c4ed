"""A worker: keeps the reports on the runs of a database up to date. Several share the work."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator

from pulseboard.core.finding import RunReport
from pulseboard.database.stored.reports import StoredReports, owner_of, version_of
from pulseboard.database.stored.run import StoredRun
from pulseboard.database.stored.runs import StoredRuns
from pulseboard.diagnose.cases import Training, trainings
from pulseboard.diagnose.diagnosis import report_on_training

# A run that grows all the time is diagnosed again after this long, or after a multiple of the time that it takes.
_AGAIN_SECS, _AGAIN_FACTOR = 2.0, 20.0


class Worker:
    """Diagnoses the trainings that are its own, if their stored report is not about their present state."""

    def __init__(
        self,
        runs: StoredRuns,
        *,
        name: str | None = None,
        diagnose: Callable[[Training], RunReport] = lambda one: report_on_training(one, watching=True),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self._runs, self._diagnose, self._clock = runs, diagnose, clock
        self._reports = StoredReports(runs.connection)
        self._again_at: dict[int, float] = {}

    def round(self) -> Iterator[RunReport]:
        """Diagnose what is due, and yield each report when it is stored. Raises DatabaseError."""
        self._reports.beat(self.name)
        self._runs.poll()
        self._reports.poll()
        workers = self._reports.workers()
        for training in list(trainings(self._runs)):
            runs = [run for _, run in training.parts if isinstance(run, StoredRun)]
            if not runs or owner_of(runs[0], workers) != self.name:
                continue
            key, version = runs[0].id, version_of(runs)
            if self._reports.has(key, version) or self._again_at.get(key, 0.0) > self._clock():
                continue
            began = self._clock()
            report = self._diagnose(training)
            self._reports.put(key, version, report.to_dict(), worker=self.name)
            took = self._clock() - began
            self._again_at[key] = self._clock() + max(_AGAIN_SECS, _AGAIN_FACTOR * took)
            # A long first round must not look like a worker that is gone.
            self._reports.beat(self.name)
            yield report

    def leave(self) -> None:
        """Let the others take over at once."""
        self._reports.leave(self.name)
