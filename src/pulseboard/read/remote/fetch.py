"""Fetching one file of a mirror: its new bytes if it grew, all of it if it changed in another way."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Literal, Protocol

from pulseboard.read.format import HEAD_BYTES, Candidate, reader_for
from pulseboard.read.remote.mirror_files import MirrorFiles
from pulseboard.read.remote.store import RemoteFile
from pulseboard.read.remote.wanted import Wanted
from pulseboard.rundir import layout

# Read again before the new bytes: if they differ, the file was replaced by a longer one. In an event file they include
# the checksum of the last record.
OVERLAP_BYTES = 64
# A smaller .json is read whole: it may be one document, rewritten as it grows.
_MIN_APPENDED_JSON_BYTES = 64 << 10


class Read(Protocol):
    """`Store.read`."""

    def __call__(self, file: RemoteFile, *, start: int, end: int) -> Iterator[bytes | memoryview]:
        """The bytes of a file from `start` to `end`, in pieces."""


Outcome = Literal["complete", "incomplete", "not a log"]


def fetch(read: Read, one: Wanted, files: MirrorFiles, *, local_size: int | None) -> Outcome:
    """Make the local file equal to the remote one. `local_size` is None if there is no local file.

    Raises RemoteError, FileGone, FileRefused and OSError. What was fetched until then is kept.
    """
    file, path = one.file, files.path_of(one.file.name)
    assert path is not None, "names that lead out of the mirror are left out before"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if local_size is not None and _may_have_grown(one, local_size):
        if _append(read, file, path, local_size):
            return _outcome(file, path)
        local_size = 0
    elif local_size is None and not one.certain and file.size > HEAD_BYTES:
        _write(read(file, start=0, end=HEAD_BYTES), path, mode="wb")
        if not _is_log(path):
            files.remove(file.name)
            return "not a log"
        _write(read(file, start=HEAD_BYTES, end=file.size), path, mode="ab")
        return _outcome(file, path)
    if local_size is None and one.appended:
        # In place: if the connection ends, the next update continues here.
        _write(read(file, start=0, end=file.size), path, mode="wb")
        return _outcome(file, path)
    part = str(files.part())
    try:
        _write(read(file, start=0, end=file.size), part, mode="wb")
        outcome = _outcome(file, part)
        if outcome == "complete":
            os.replace(part, path)
        return outcome
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def _may_have_grown(one: Wanted, local_size: int) -> bool:
    if not one.appended or local_size < OVERLAP_BYTES or local_size > one.file.size:
        return False
    if local_size == one.file.size:  # without ETags, another time may be all that changed
        return not one.file.version
    name = one.file.name
    return layout.is_event_file(name) or not name.lower().endswith(".json") or local_size >= _MIN_APPENDED_JSON_BYTES


def _append(read: Read, file: RemoteFile, path: str, local_size: int) -> bool:
    """Append the new bytes. False, and nothing is changed, if the file is not a continuation of the local one."""
    start = local_size - OVERLAP_BYTES
    with open(path, "r+b") as stream:
        stream.seek(start)
        known = stream.read(OVERLAP_BYTES)
        pieces = read(file, start=start, end=file.size)
        head = b""
        for piece in pieces:
            head += bytes(piece)
            if len(head) >= OVERLAP_BYTES:
                break
        if head[:OVERLAP_BYTES] != known:
            return False
        stream.seek(local_size)
        stream.write(head[OVERLAP_BYTES:])
        for piece in pieces:
            stream.write(piece)
    return True


def _write(pieces: Iterator[bytes | memoryview], path: str, *, mode: Literal["wb", "ab"]) -> None:
    first = next(pieces, b"")  # before anything is created: an empty file would be an empty run
    with open(path, mode) as stream:
        stream.write(first)
        for piece in pieces:
            stream.write(piece)


def _outcome(file: RemoteFile, path: str) -> Outcome:
    """Whether all of it is there. If so, it gets the time of the remote file: whether a run is live depends on it."""
    if os.path.getsize(path) != file.size:
        return "incomplete"
    os.utime(path, ns=(file.mtime_ns, file.mtime_ns))
    return "complete"


def _is_log(path: str) -> bool:
    """Whether a reader recognizes the first bytes of a file."""
    try:
        return reader_for(Candidate(path)) is not None
    except Exception:  # a reader that needs more than the first bytes: let it see the whole file
        return True
