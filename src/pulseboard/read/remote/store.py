"""Stores: what a mirror needs of a remote directory, and the errors it may raise."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from pulseboard.core.note import Note
from pulseboard.read.remote.url import RemoteUrl


class RemoteFile(NamedTuple):
    """A file at the last listing."""

    name: str  # its path below the URL, separated by slashes; empty if the URL is that of a file
    size: int
    mtime_ns: int
    version: str = ""  # the ETag; empty if the store has none

    def is_same_as(self, before: RemoteFile | None) -> bool:
        """Whether it has not changed since an earlier listing. With ETags, another time alone is not a change."""
        if before is None or not self.version:
            return self == before
        return (self.size, self.version) == (before.size, before.version)


class FileGone(Exception):
    """A file was removed or replaced since it was listed. The next listing has the new state."""


class FileRefused(Exception):
    """One file cannot be read, although the directory can be listed."""


@dataclass(slots=True)
class Traffic:
    """What reading a remote directory has cost so far."""

    requests: int = 0
    listings: int = 0
    bytes_read: int = 0  # of files; listings are not included
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, *, requests: int = 0, listings: int = 0, bytes_read: int = 0) -> None:
        """Count something. Thread-safe."""
        with self._lock:
            self.requests += requests
            self.listings += listings
            self.bytes_read += bytes_read


@dataclass(slots=True)
class Listing:
    """Every file at or below a URL, and what could not be listed."""

    files: list[RemoteFile]
    notes: list[Note] = field(default_factory=list)
    pages: int = 1  # a measure of what it cost: one page is about 1,000 entries


class Store(Protocol):
    """A remote directory. Several threads may read at the same time."""

    url: RemoteUrl
    traffic: Traffic

    def listing(self) -> Listing:
        """All files. Nothing there is an empty list. Raises RemoteError."""

    def read(self, file: RemoteFile, *, start: int, end: int) -> Iterator[bytes | memoryview]:
        """The bytes of a file from `start` to `end`, in pieces; fewer if it became shorter.

        Raises RemoteError, FileGone and FileRefused.
        """

    def close(self) -> None:
        """End the connection."""
