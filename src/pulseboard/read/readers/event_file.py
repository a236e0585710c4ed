"""TensorBoard event files: one file's columns, what was wrong with it, and its values by span."""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pulseboard.core.note import Note
from pulseboard.files import layout
from pulseboard.native import kernel
from pulseboard.read.discover import FoundFile

_LFS_POINTER = b"version https://git-lfs"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class TagEntry:
    """What a file holds under one tag."""

    name: str
    plugin: str | None  # None: no value of this file said
    points: int
    spans: int
    whats: int  # kinds of span as bits: native/events.h
    bytes: int
    meta_offset: int
    meta_length: int
    index: int


class EventFile:
    """One event file, followed: `load` takes what is new. Archived files are read the same way."""

    __slots__ = ("_archive_error", "_tags", "_tags_at", "log", "path", "seen")

    def __init__(self, path: str) -> None:
        self.path = path
        self.log = kernel.EventLog()
        self.seen: FoundFile | None = None  # the file as it was when last loaded
        self._archive_error: str | None = None
        self._tags: dict[str, TagEntry] = {}
        self._tags_at = (-1, -1)

    @property
    def archived(self) -> bool:
        """Whether the file is compressed, so that it is fed to the kernel from here."""
        return layout.is_archived(self.path)

    def load(self) -> None:
        """Read what is new. Never raises for what is in the file; see `notes`."""
        if self.archived:
            self._load_archived()
        else:
            self.log.load(os.fsencode(self.path))

    def _load_archived(self) -> None:
        self.log.reset()
        self._archive_error = None
        rest = b""
        try:
            for piece in self._decompressed():
                data = rest + piece if rest else piece
                rest = data[self.log.feed(data) :]
                if self.log.end > kernel.END_TORN:
                    break
        except OSError as error:
            self._archive_error = error.strerror or str(error)
        except (EOFError, zlib.error) as error:
            self._archive_error = str(error)
        self.log.trim()

    def _decompressed(self) -> Iterator[bytes]:
        with gzip.open(self.path, "rb") as stream:
            # read1, not read: of an archive that ends too soon, read would keep back the last piece.
            while piece := stream.read1(_PIECE):
                yield piece

    def tags(self) -> dict[str, TagEntry]:
        """The file's tags, in order of appearance."""
        at = (self.log.generation, self.log.offset)
        if at != self._tags_at:
            self._tags = {row[0]: TagEntry(*row, i) for i, row in enumerate(self.log.tags())}
            self._tags_at = at
        return self._tags

    def entry(self, tag: str) -> TagEntry | None:
        """What the file holds under one tag; costs nothing for the others."""
        if self._tags_at == (self.log.generation, self.log.offset):
            return self._tags.get(tag)
        row = self.log.tag(tag)
        return None if row is None else TagEntry(*row)

    def read(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each (offset, length). Raises OSError where the file no longer has them."""
        if not spans:
            return []
        if self.archived:
            return self._read_archived(spans)
        with open(self.path, "rb", buffering=0) as stream:
            fd = stream.fileno()
            pieces = [os.pread(fd, length, offset) for offset, length in spans]
        for piece, (offset, length) in zip(pieces, spans, strict=True):
            if len(piece) != length:
                raise OSError(errno.EIO, f"the file was cut since it was read: bytes {offset} on are gone", self.path)
        return pieces

    def _read_archived(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """A compressed file has no random access: one pass serves all spans."""
        out = [b""] * len(spans)
        pieces = self._decompressed()
        held, start = bytearray(), 0  # what was unpacked last, and the byte it stands at
        for i in sorted(range(len(spans)), key=lambda i: spans[i]):
            offset, length = spans[i]
            while start + len(held) < offset + length:
                if start + len(held) <= offset:
                    start += len(held)
                    held.clear()
                held += self._next_of(pieces)
            out[i] = bytes(held[offset - start : offset - start + length])
        return out

    def _next_of(self, pieces: Iterator[bytes]) -> bytes:
        try:
            return next(pieces)
        except (StopIteration, EOFError, zlib.error) as error:
            raise OSError(errno.EIO, "the archive was cut or damaged since it was read", self.path) from error

    def notes(self) -> list[Note]:
        """What is wrong with the file, in words."""
        skipped, details = self.log.notes()
        out = [self._skipped(*detail) for detail in details]
        if skipped > len(details):
            out.append(Note("damage", f"Skipped {skipped - len(details)} further damaged records.", self.path))
        end = self._end_note()
        return [*out, end] if end else out

    def _skipped(self, code: int, offset: int, length: int, got: int, want: int) -> Note:
        if code == kernel.NOTE_PAYLOAD:
            why = f"payload checksum is {got:#010x}, the file says {want:#010x}"
        else:
            why = f"its {length} bytes are not an Event message"
        return Note("damage", f"Skipped 1 record: {why}. Later records were read.", self.path, offset)

    def _end_note(self) -> Note | None:
        log = self.log
        if self._archive_error is not None:
            what = f"The archive is damaged: {self._archive_error}. {log.events} records before that were read."
            return Note("damage", what, self.path, log.offset)
        match log.end:
            case kernel.END_BAD_LENGTH if log.offset == 0:
                return Note("unreadable", self._no_event_file(), self.path)
            case kernel.END_BAD_LENGTH:
                what = (
                    f"The rest of the file was skipped: a record's length fails its checksum, so the next "
                    f"cannot be found. {log.events} records before it were read."
                )
                return Note("damage", what, self.path, log.offset)
            case kernel.END_HUGE:
                what = (
                    "The rest of the file was skipped: a record claims more than 2 GiB, which no writer makes. "
                    f"{log.events} records before it were read."
                )
                return Note("damage", what, self.path, log.offset)
            case kernel.END_TORN:
                what = "The last record is not whole: the file was cut there, or is still being written."
                return Note("info", what, self.path, log.offset)
            case kernel.END_ERRNO if log.error != errno.ENOENT:
                return Note("unreadable", f"Cannot be read: {os.strerror(log.error)}.", self.path)
            case kernel.END_NOT_A_FILE:
                return Note("unreadable", "Left out: it has an event file's name but is no regular file.", self.path)
            case kernel.END_NO_MEMORY:
                return Note("unreadable", "Memory ran out while reading; close other runs and reload.", self.path)
            case _:
                return None

    def _no_event_file(self) -> str:
        try:
            with open(self.path, "rb") as stream:
                head = stream.read(64)
        except OSError:
            head = b""
        if head.startswith(_LFS_POINTER):
            return "This is a Git LFS pointer, not the event file itself. Fetch it with: git lfs pull."
        if head.startswith(b"\x1f\x8b"):
            return f"This is gzip under an event file's name; add {layout.ARCHIVED_SUFFIX} to it to have it read."
        return "This is not an event file: its first record's length fails its checksum."
