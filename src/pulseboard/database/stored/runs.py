"""The runs in a database, kept up to date by asking once a second what was described since."""

from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pulseboard.core.changes import Changes
from pulseboard.core.note import Note
from pulseboard.database import schema
from pulseboard.database.connection import Connection, DatabaseError
from pulseboard.database.stored.files import OVERLAP_MICROSECS, FileCopies
from pulseboard.database.stored.log_files import LogFiles
from pulseboard.database.stored.points import PointCache
from pulseboard.database.stored.run import StoredRun
from pulseboard.database.stored.series_rows import series_rows
from pulseboard.database.url import parse_url
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs
from pulseboard.read.snapshot import newest_first

_POLL_SECS = 1.0
_MAX_RETRY_SECS = 30.0

_log = logging.getLogger("pulseboard.serve")


class StoredRuns(Runs):
    """Runs of a database, by name. Of two runs with one name, the later one is shown with its host."""

    def __init__(self, connection: Connection, *, project: str = "", media: Iterable[str] = ()) -> None:
        """`project` limits them to those whose names begin with it. `media` are directories and URLs with their logs.

        Images and audio that stayed in the logs are read there.
        """
        super().__init__([])
        self.connection, self._project = connection, project
        schema.require(connection)
        self.point_cache = PointCache(connection)
        self._log_files = LogFiles(media)
        self._files = FileCopies(connection)
        self._described: dict[int, tuple[int, str, dict[str, Any]]] = {}  # by run: when, host, description
        self._since = 0

    @classmethod
    def open(cls, url: str, *, project: str = "", media: Iterable[str] = ()) -> StoredRuns:
        """Connect to a database. Raises DatabaseError, BadDatabaseUrl, and LogNotFound for a directory of `media`."""
        return cls(Connection(parse_url(url)), project=project, media=media)

    def __repr__(self) -> str:
        return f"Runs({str(self.connection.url)!r}, {len(self)} runs)"

    def load_rows(self, runs: Iterable[Run]) -> None:
        """Read which series these runs have, with a query for all of them."""
        missing = {run.part: run for run in runs if isinstance(run, StoredRun) and not run.has_rows and run.part}
        for part, rows in series_rows(self.connection, missing).items():
            missing[part].rows = rows

    # ---- keeping up

    def refresh(
        self, *, progress: Callable[[int, int], None] | None = None, meanwhile: Callable[[], None] | None = None
    ) -> Changes:
        """Read what was described since the last time. Raises DatabaseError."""
        return self.poll()

    def poll(self, paths: Iterable[str] | None = None) -> Changes:
        """Read what was described since the last time. Raises DatabaseError."""
        sql = """SELECT run, name, host, info, toUnixTimestamp64Micro(updated) AS at FROM {db}.runs
        WHERE updated > fromUnixTimestamp64Micro({since:Int64}) ORDER BY updated"""
        with self._refreshing:
            changed = self._files.update()
            since = max(self._since - OVERLAP_MICROSECS, 0)
            for run, name, host, info, at in self.connection.rows(sql, since=since):
                self._since = max(self._since, at)
                if run not in self._described or self._described[run][0] < at:
                    self._described[run] = (at, host, {**json.loads(info), "name": name})
                    changed.add(run)
            return self._publish(changed & self._described.keys()) if changed else Changes()

    def _publish(self, changed: set[int]) -> Changes:
        """Make the runs that changed again, and show all of them."""
        before = self._snapshot.runs
        kept = {run.id: run for run in before.values() if isinstance(run, StoredRun)}
        after: dict[str, Run] = {}
        for name, run_id in self._names().items():
            old = kept.get(run_id)
            after[name] = (
                old if old is not None and old.name == name and run_id not in changed else self._run(run_id, name)
            )
        added = [run for name, run in after.items() if name not in before]
        removed = [run for name, run in before.items() if name not in after]
        grown = [run for name, run in after.items() if name in before and before[name] is not run]
        self.show(after)
        return Changes(*(tuple(newest_first(runs)) for runs in (added, removed, grown)))

    def _names(self) -> dict[str, int]:
        """Each run by the name that it was pushed with. Of several with one name, the first to start keeps it."""
        names: dict[str, int] = {}
        for run_id, (_, host, info) in sorted(self._described.items(), key=_age):
            name, n = info["name"], 1
            while name in names:
                name = f"{info['name']} ({host}{f' {n}' if n > 1 else ''})"
                n += 1
            names[name] = run_id
        return {name: run_id for name, run_id in names.items() if name.startswith(self._project)}

    def _run(self, run_id: int, name: str) -> StoredRun:
        _, host, info = self._described[run_id]
        return StoredRun(
            info,
            name=name,
            id=run_id,
            rank=0,
            host=host,
            directory=self._files.directory(run_id),
            points=self.point_cache,
            connection=self.connection,
            log_files=self._log_files,
        )

    def follow(self, *, every_secs: float = 5.0, stop: threading.Event | None = None) -> Iterator[Changes]:
        """Ask once a second what is new and yield it, until `stop` is set. While the server is away, keep trying."""
        stop = stop or threading.Event()
        pause = _POLL_SECS
        while not stop.wait(pause):
            try:
                changes = self.poll()
            except DatabaseError as error:
                if pause == _POLL_SECS:
                    _log.warning("%s  Trying again; what was read before is still shown.", error)
                pause = min(pause * 2, _MAX_RETRY_SECS)
                continue
            if pause > _POLL_SECS:
                _log.warning("The database responds again. %s", self.connection.url)
                pause = _POLL_SECS
            if changes:
                yield changes

    def connect(self) -> list[str]:
        """Nothing is missing: the connection was made before."""
        return []

    def notes(self) -> list[Note]:
        """What was wrong with the files of all runs."""
        return [note for run in self.values() for note in run.notes()]

    def close(self) -> None:
        """End the connection, and remove copies of files."""
        self._files.close()
        self.connection.close()


def _age(item: tuple[int, tuple[int, str, dict[str, Any]]]) -> tuple[float, str, int]:
    run_id, (_, host, info) = item
    started = info.get("started")
    return math.inf if started is None else float(started), host, run_id
