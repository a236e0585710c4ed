"""Copies of the small files of stored runs: run.json, module trees and configurations are read as if from a log."""

from __future__ import annotations

import os
import shutil
import tempfile

from pulseboard.core.locations import register_mirror
from pulseboard.database.connection import Connection

# Batches of a poll overlap: rows become visible a moment after their time.
OVERLAP_MICROSECS = 10_000_000


class FileCopies:
    """A directory for each run, below a temporary one that `close` removes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._top = tempfile.mkdtemp(prefix="pulseboard-")
        self._since = 0
        register_mirror(self._top, str(connection.url))

    def directory(self, run: int) -> str:
        """The directory of a run, which exists only if the run has small files."""
        return os.path.join(self._top, f"{run:016x}")

    def update(self) -> set[int]:
        """Copy what is new, and return the runs whose files changed."""
        sql = """SELECT run, name, content, toUnixTimestamp64Micro(updated) FROM {db}.files
        WHERE updated > fromUnixTimestamp64Micro({since:Int64}) ORDER BY updated"""
        changed: set[int] = set()
        since = max(self._since - OVERLAP_MICROSECS, 0)
        for run, name, content, updated in self._connection.rows(sql, binary=True, since=since):
            if self._write(run, name.decode("utf-8", "replace"), content):
                changed.add(run)
            self._since = max(self._since, updated)
        return changed

    def _write(self, run: int, name: str, content: bytes) -> bool:
        """Write one file, whose name someone else chose. Returns False if it is the same as before."""
        directory = self.directory(run)
        path = os.path.normpath(os.path.join(directory, name))
        if not path.startswith(directory + os.sep):
            return False
        try:
            with open(path, "rb") as file:
                if file.read() == content:
                    return False
        except OSError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.new"
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
        return True

    def close(self) -> None:
        """Remove all copies."""
        shutil.rmtree(self._top, ignore_errors=True)
