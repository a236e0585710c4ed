"""Reports on trainings, kept in the database for the whole team, and who makes them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pulseboard.database.connection import Connection
from pulseboard.database.stored.files import OVERLAP_MICROSECS
from pulseboard.database.stored.run import StoredRun
from pulseboard.read.config.sources import run_file_of

if TYPE_CHECKING:
    from pulseboard.read.run import Run

ALIVE_SECS = 20.0
"""A worker that was not seen for this long is gone: others take over its trainings."""

_BEAT_SECS = 5.0


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report, and the state of the log that it is about."""

    run: int
    version: str
    report: Mapping[str, Any]


class StoredReports:
    """Reports by the id of the training's first run. One per thread of control: `poll` returns what is new to it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._since = 0
        self._versions: dict[int, str] = {}
        self._workers: tuple[str, ...] = ()
        self._workers_at = self._beat_at = -ALIVE_SECS

    def poll(self) -> list[StoredReport]:
        """The reports that were stored since the last time. Raises DatabaseError."""
        sql = """SELECT run, version, report, toUnixTimestamp64Micro(updated) FROM {db}.reports FINAL
        WHERE updated > fromUnixTimestamp64Micro({since:Int64}) ORDER BY updated"""
        found = []
        since = max(self._since - OVERLAP_MICROSECS, 0)
        for run, version, report, at in self._connection.rows(sql, since=since):
            self._since = max(self._since, at)
            if self._versions.get(run) != version:
                self._versions[run] = version
                found.append(StoredReport(run, version, json.loads(report)))
        return found

    def has(self, run: int, version: str) -> bool:
        """Whether a report about this state of a log was seen by `poll` or stored here."""
        return self._versions.get(run) == version

    def forget(self, run: int) -> None:
        """Let `poll` return the report of a run again, if it asks for it soon."""
        self._versions.pop(run, None)

    def put(self, run: int, version: str, report: Mapping[str, Any], *, worker: str) -> None:
        """Store a report instead of the one before. Raises DatabaseError."""
        text = json.dumps(report, ensure_ascii=False, separators=(",", ":"))
        columns: dict[str, tuple[str, list[Any]]] = {
            "run": ("UInt64", [run]),
            "version": ("String", [version]),
            "report": ("String", [text]),
            "worker": ("String", [worker]),
        }
        self._connection.insert("reports", columns, token="")
        self._versions[run] = version

    # ---- workers

    def beat(self, worker: str) -> None:
        """Register a worker as active; may be called as often as needed."""
        if time.monotonic() - self._beat_at >= _BEAT_SECS:
            self._connection.insert("workers", {"name": ("String", [worker])}, token="")
            self._beat_at = time.monotonic()
            self._workers_at = -ALIVE_SECS

    def leave(self, worker: str) -> None:
        """Deregister a worker, so that others take over immediately."""
        self._connection.insert("workers", {"name": ("String", [worker]), "here": ("Bool", [False])}, token="")
        self._beat_at = -ALIVE_SECS

    def workers(self) -> tuple[str, ...]:
        """The workers that are there now. Raises DatabaseError."""
        if time.monotonic() - self._workers_at >= 1.0:
            sql = """SELECT name FROM {db}.workers GROUP BY name
            HAVING max(seen) > now64(6) - toIntervalSecond({secs:UInt32}) AND argMax(here, seen) ORDER BY name"""
            self._workers = tuple(name for (name,) in self._connection.rows(sql, secs=int(ALIVE_SECS)))
            self._workers_at = time.monotonic()
        return self._workers


def version_of(runs: Iterable[Run]) -> str:
    """The state of a training's log, and of the program that reads it."""
    state = [(run.points, run.last_step, run.last_written, run_file_of(run).status) for run in runs]
    return blake2b(repr((sys.modules["pulseboard"].__version__, state)).encode(), digest_size=8).hexdigest()


def owner_of(run: StoredRun, workers: Iterable[str]) -> str | None:
    """Which of several workers diagnoses a training, by its first run: all agree on it without talking.

    If a worker comes or goes, only its own trainings change hands.
    """
    return max(
        workers, key=lambda worker: blake2b(f"{worker}\0{run.id}".encode(), digest_size=8).digest(), default=None
    )
