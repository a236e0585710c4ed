"""Logs that this server can read, for images and audio that stayed there: spans in, bytes out.

Spans come from the database, where everyone who pushes may write. So only event files are read, only below the
directories that the operator named, and a span counts only if its bytes have the checksum that they had when it was
pushed.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol
from zlib import crc32

from pulseboard.core.errors import LogNotFound, RemoteError, ValuesNotHere
from pulseboard.core.locations import is_url
from pulseboard.database.span import Span
from pulseboard.read.event_files.event_file import EventFile
from pulseboard.read.remote.store import FileGone, FileRefused, RemoteFile
from pulseboard.read.remote.stores import open_store
from pulseboard.read.remote.url import parse_url
from pulseboard.rundir import layout

MAX_VALUE_BYTES = 256 << 20
MAX_TAG_BYTES = 1 << 30
"""The images of a tag are read together, like those of a log directory."""

# A request costs about as much time as this many bytes.
_MAX_GAP_BYTES, _MAX_PIECE_BYTES = 64 << 10, 8 << 20
_MAX_CONNECTIONS = 8

Found = dict[Span, bytes]


class _Place(Protocol):
    """A directory that holds logs."""

    def read(self, file: str, spans: Sequence[Span]) -> Found:
        """Those of the spans of one file whose bytes are here. Raises RemoteError."""


class LogFiles:
    """Directories and URLs that hold logs, as the operator named them."""

    def __init__(self, places: Iterable[str] = ()) -> None:
        """Raises LogNotFound if a path is not a directory, and BadUrl."""
        self._places: list[_Place] = [_Remote(one) if is_url(one) else _Directory(one) for one in places]

    def read(self, spans: Iterable[Span], *, host: str) -> Found:
        """The bytes of those spans that can be read here. Raises ValuesNotHere if there are none."""
        wanted = list(dict.fromkeys(spans))
        by_file: dict[str, list[Span]] = {}
        for span in wanted:
            by_file.setdefault(span.file, []).append(span)
        found: Found = {}
        failed: RemoteError | None = None
        for file, of_file in by_file.items():
            left = [one for one in of_file if one.length <= MAX_VALUE_BYTES]
            for place in self._places:
                room = MAX_TAG_BYTES - sum(map(len, found.values()))
                try:
                    found |= place.read(file, _that_fit(left, room))
                except RemoteError as error:
                    failed = error
                if not (left := [one for one in left if one not in found]):
                    break
        if wanted and not found:
            raise self._not_here(wanted[0].file, host, failed)
        return found

    def _not_here(self, file: str, host: str, failed: RemoteError | None) -> ValuesNotHere:
        place = file if is_url(file) else f"{host}:{file}"
        advice = "Serve with `--media DIR`, a directory or URL that has the log here, or push with `--media`."
        if failed is not None:
            return ValuesNotHere(place, why=f"it cannot be read ({failed})", advice=advice)
        if self._places:
            return ValuesNotHere(place, why="no directory given with `--media` has it unchanged", advice=advice)
        return ValuesNotHere(place, why="no `--media DIR` was given", advice=advice)


def _that_fit(spans: Iterable[Span], room: int) -> list[Span]:
    """The first spans, up to so many bytes."""
    out = []
    for span in spans:
        room -= span.length
        if room < 0:
            break
        out.append(span)
    return out


def _parts(file: str) -> list[str]:
    """The parts of a path or URL that someone else chose; none if it is not that of an event file."""
    path = file.partition("://")[2].partition("/")[2] if is_url(file) else file.replace(os.sep, "/")
    parts = [part for part in path.split("/") if part]
    if not parts or "\0" in file or {".", ".."} & set(parts) or not layout.is_event_file(parts[-1]):
        return []
    return parts


def _checked(spans: Iterable[Span], data: Iterable[bytes]) -> Found:
    return {span: one for span, one in zip(spans, data, strict=True) if crc32(one) == span.crc}


class _Directory:
    """A directory on this machine. A log is found by the end of its path: on another host, the beginning may differ."""

    def __init__(self, path: str) -> None:
        self._top = os.path.realpath(path)
        if not os.path.isdir(self._top):
            raise LogNotFound(path, why="--media takes a directory or URL, and this is neither")

    def read(self, file: str, spans: Sequence[Span]) -> Found:
        """From the longest end of the path that leads to the bytes."""
        parts, found = _parts(file), Found()
        for start in range(len(parts)):
            path = os.path.join(self._top, *parts[start:])
            for name in (path, _other_form(path)):
                left = [one for one in spans if one not in found]
                found |= _checked(*self._read_file(name, left)) if left else {}
        return found

    def _read_file(self, path: str, spans: Sequence[Span]) -> tuple[Sequence[Span], list[bytes]]:
        one = EventFile(path)
        one.restrict((self._top,))
        try:
            if not one.archived:
                size = os.stat(path).st_size
                spans = [span for span in spans if span.offset + span.length <= size]
            return spans, one.read([(span.offset, span.length) for span in spans])
        except (OSError, OverflowError):
            return [], []


def _other_form(path: str) -> str:
    """The name of the event file after it was archived, or before."""
    return layout.original_name(path) if layout.is_archived(path) else path + layout.ARCHIVED_SUFFIX


class _Remote:
    """A remote directory. It has the logs whose URLs begin with its own."""

    def __init__(self, url: str) -> None:
        self._url = parse_url(url)
        self._store = open_store(self._url, links_out=False)

    def read(self, file: str, spans: Sequence[Span]) -> Found:
        """Neighbors are read with one request."""
        top = f"{self._url}/"
        if not file.startswith(top) or not _parts(file) or layout.is_archived(file):
            return {}
        name = posixpath.normpath(file[len(top) :])
        found: Found = {}
        with ThreadPoolExecutor(_MAX_CONNECTIONS) as pool:
            for piece in pool.map(lambda piece: self._read_piece(name, piece), list(_pieces(spans))):
                found |= piece
        return found

    def _read_piece(self, name: str, spans: Sequence[Span]) -> Found:
        start, end = spans[0].offset, max(one.offset + one.length for one in spans)
        whole = RemoteFile(name, size=1 << 62, mtime_ns=0)
        try:
            data = b"".join(bytes(piece) for piece in self._store.read(whole, start=start, end=end))
        except (FileGone, FileRefused):
            return {}
        return _checked(spans, (data[one.offset - start : one.offset - start + one.length] for one in spans))


def _pieces(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """The spans of a file in groups that are near each other."""
    group: list[Span] = []
    for span in sorted(spans, key=lambda one: one.offset):
        end = group[-1].offset + group[-1].length if group else 0
        if group and (
            span.offset - end > _MAX_GAP_BYTES or span.offset + span.length - group[0].offset > _MAX_PIECE_BYTES
        ):
            yield group
            group = []
        group.append(span)
    if group:
        yield group
