"""What was read of run.json files and hyperparameters, in the disk index: the next process lists its runs without them.

One file per set of log directories:

    8 hexadecimal digits   CRC-32 of the JSON
    newline
    JSON                   {"records": [[directory, version of run.json, fields of RunRecord], ...],
                            "hparams": [[versions of the event files, {name: value}], ...]}
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import astuple
from typing import Any

from pulseboard.charts.index import Index
from pulseboard.charts.lists.run_files import RunFiles, RunRecord
from pulseboard.charts.lists.settings import Settings
from pulseboard.kernel.reader import END_CLEAN
from pulseboard.read.runs import Runs
from pulseboard.rundir.run_file import Fork

# Fewer are read as fast as their index would be.
_MIN_RUNS = 64
_RUN_BYTES = 1024  # about what a run takes


class KeptSettings:
    """Restores the settings of some log directories, and schedules what was read since for saving."""

    end = END_CLEAN
    generation = 0

    def __init__(self, index: Index, runs: Runs, run_files: RunFiles, settings: Settings) -> None:
        self._index, self._runs = index, runs
        self._run_files, self._settings = run_files, settings
        self._restored: int | None = None  # how many runs; None until `restore`
        locations = "\0".join(sorted(directory.location for directory in runs.log_directories))
        self._name = f"settings/{hashlib.sha256(locations.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"

    def restore(self) -> None:
        """Use what an earlier process read, the first time this is called."""
        if self._restored is not None:
            return
        self._restored = 0
        data = self._index.kept(self._name)
        if data is None:
            return
        try:
            records, hparams = _decoded(data)
        except (ValueError, TypeError, KeyError):  # damaged, or of another version: it is written again
            return
        for directory, version, record in records:
            self._run_files.restore(directory, version, record)
        for versions, values in hparams:
            self._settings.restore(versions, values)
        self._restored = len(records)
        self._index.is_kept(self._name, self)

    def update(self) -> None:
        """Save what was read since the last time, if it is worth it."""
        if self._restored is not None and self.offset != self._restored and len(self._runs) >= _MIN_RUNS:
            self._index.keep(self._name, self)

    # ---- what the index saves

    @property
    def offset(self) -> int:
        """Grows with everything that is read."""
        return (self._restored or 0) + self._run_files.reads + self._settings.reads

    @property
    def held_bytes(self) -> int:
        """About the size on disk."""
        return len(self._runs) * _RUN_BYTES

    def save(self, fd: int) -> int:
        """Write everything to an open, empty file. Returns 0; raises OSError."""
        runs = list(self._runs.values())
        found = filter(None, map(self._run_files.known, runs))
        records = [(directory, version, astuple(record)) for directory, version, record in found]
        hparams = list(filter(None, map(self._settings.known, runs)))
        body = json.dumps({"records": records, "hparams": hparams}, separators=(",", ":")).encode("ascii")
        with os.fdopen(fd, "wb", closefd=False) as stream:
            stream.write(b"%08x\n" % zlib.crc32(body) + body)
        return 0


def _decoded(data: bytes) -> tuple[list[Any], list[Any]]:
    head, _, body = data.partition(b"\n")
    if int(head, 16) != zlib.crc32(body):
        raise ValueError("the checksum is wrong")
    fields = json.loads(body)
    records = [
        (directory, tuple(version), RunRecord(status, active, None if fork is None else Fork(*fork), kept, config))
        for directory, version, (status, active, fork, kept, config) in fields["records"]
    ]
    return records, [(_versions(versions), values) for versions, values in fields["hparams"]]


def _versions(listed: Iterable[Iterable[int]]) -> tuple[Any, ...]:
    return tuple(map(tuple, listed))
