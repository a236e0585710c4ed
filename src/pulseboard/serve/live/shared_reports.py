"""Reports that workers make of the runs in a database, so this server does not have to."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pulseboard.database.connection import DatabaseError
from pulseboard.database.stored.reports import StoredReports, version_of
from pulseboard.database.stored.run import StoredRun

if TYPE_CHECKING:
    from pulseboard.diagnose.cases import Training
    from pulseboard.serve.live.kept_reports import Report

_log = logging.getLogger("pulseboard.serve")


class SharedReports:
    """The reports of a database, for the thread of the diagnosis."""

    def __init__(self, stored: StoredReports) -> None:
        self._stored = stored
        self._held: dict[str, None] = {}  # runs that a worker is to diagnose

    def take(self, by_run: Mapping[str, Training]) -> Iterator[tuple[Training, Report]]:
        """The trainings that have a new report, with it."""
        try:
            found = self._stored.poll()
        except DatabaseError as error:
            _log.info("Stored reports cannot be read: %s", error)
            return
        if not found:
            return
        by_id = {one.parts[0][1].id: one for one in by_run.values() if isinstance(one.parts[0][1], StoredRun)}
        for stored in found:
            if (training := by_id.get(stored.run)) is not None:
                yield training, stored.report
            else:
                self._stored.forget(stored.run)  # the run itself is not known yet

    def cares_for(self, name: str, training: Training) -> bool:
        """Whether a worker has diagnosed a training as it is now, or is about to."""
        runs = [run for _, run in training.parts]
        try:
            if not isinstance(runs[0], StoredRun):
                return False
            if self._stored.has(runs[0].id, version_of(runs)):
                return True
            if not self._stored.workers():
                return False
        except DatabaseError:
            return False
        self._held[name] = None
        return True

    def left_behind(self) -> list[str]:
        """The runs left to workers, once no worker is running."""
        try:
            if not self._held or self._stored.workers():
                return []
        except DatabaseError:
            return []
        names = list(self._held)
        self._held.clear()
        return names
