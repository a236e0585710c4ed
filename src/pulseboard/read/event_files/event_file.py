"""One TensorBoard event file: its columns, its values by span, and what is wrong with it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.kernel import reader
from pulseboard.read.discovery.scan import FoundFile
from pulseboard.rundir import layout
from pulseboard.rundir.regular_file import open_regular

if TYPE_CHECKING:
    from pulseboard.read.event_files.packed_columns import PackedColumns

_FRAME_BYTES = 16  # a record's length and two checksums
_LFS_POINTER = b"version https://git-lfs"
_CHUNK_BYTES = 1 << 20
# Event files shrink 3 to 24 times (docs/log.md, 16 November). What shrinks more is not a log.
_MAX_UNPACKED_RATIO, _MIN_UNPACKED_BYTES = 100, 64 << 20


class TagEntry(NamedTuple):
    """What a file holds under one tag."""

    name: str
    plugin: str | None  # None: no value in this file names one
    points: int
    spans: int
    span_fields: int  # the fields its spans come from, as bits: kernel/c/events/events.h
    bytes: int
    meta_offset: int
    meta_length: int
    index: int  # type: ignore[assignment]  # hides the method of tuples


class EventFile:
    """One event file that may be growing: each `load` reads what is new. Archived files are read the same way."""

    __slots__ = ("_archive_error", "_tags", "_tags_version", "_within", "log", "packed", "path", "seen")

    def __init__(self, path: str) -> None:
        self.path = path
        self.log = reader.EventLog()
        self.packed: PackedColumns | None = None  # most of its columns, if series were taken from them
        self._within: tuple[str, ...] | None = None
        self.seen: FoundFile | None = None  # the file as it was when last loaded
        self._archive_error: str | None = None
        self._tags: dict[str, TagEntry] = {}
        self._tags_version = (-1, -1)

    @property
    def archived(self) -> bool:
        """Whether the file is compressed, so that it is decompressed here and fed to the kernel."""
        return layout.is_archived(self.path)

    def restrict(self, directories: tuple[str, ...] | None) -> None:
        """Read it only while it is in one of these directories, given as real paths. None: wherever links lead."""
        if directories != self._within:
            self._within = directories
            self.log.restrict(
                None if directories is None else b"".join(os.fsencode(one) + b"\0" for one in directories)
            )

    def open(self) -> BinaryIO:
        """The file, open for reading and not buffered. Raises OSError if it cannot be read, or must not be."""
        return open_regular(self.path, within=self._within, buffered=False)

    def load(self) -> None:
        """Read what is new. Never raises because of the file's content; see `notes`."""
        if self.archived:
            self._load_archived()
        else:
            self.log.load(os.fsencode(self.path))

    def _load_archived(self) -> None:
        import zlib

        self.log.reset()
        self._archive_error = None
        kept: list[bytes] = []  # the beginning of a record, in parts: joined once, when the record is complete
        kept_bytes = wanted_bytes = 0
        try:
            for chunk in self._decompressed():
                kept.append(chunk)
                kept_bytes += len(chunk)
                if kept_bytes < wanted_bytes:
                    continue
                data = b"".join(kept)
                rest = data[self.log.feed(data) :]
                if self.log.end > reader.END_TORN:
                    break
                kept, kept_bytes, wanted_bytes = [rest], len(rest), _record_bytes(rest)
        except OSError as error:
            self._archive_error = error.strerror or str(error)
        except (EOFError, zlib.error) as error:
            self._archive_error = str(error)
        self.log.trim()

    def _decompressed(self) -> Iterator[bytes]:
        import gzip

        with self.open() as raw, gzip.GzipFile(fileobj=raw) as stream:
            left = max(_MIN_UNPACKED_BYTES, _MAX_UNPACKED_RATIO * os.fstat(raw.fileno()).st_size)
            # read1, not read: if an archive is truncated, read would withhold the last chunk.
            while chunk := stream.read1(_CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    raise OSError(
                        errno.EFBIG, f"it unpacks to more than {_MAX_UNPACKED_RATIO} times its size", self.path
                    )
                yield chunk

    def tags(self) -> dict[str, TagEntry]:
        """The file's tags, in order of appearance."""
        version = (self.log.generation, self.log.offset)
        if version != self._tags_version:
            self._tags = {row[0]: TagEntry._make(row) for row in self.log.tags()}
            self._tags_version = version
        return self._tags

    def entry(self, tag: str) -> TagEntry | None:
        """What the file holds under one tag, without listing the others; None if it does not have it."""
        if self._tags_version == (self.log.generation, self.log.offset):
            return self._tags.get(tag)
        row = self.log.tag(tag)
        return None if row is None else TagEntry._make(row)

    def read(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each (offset, length). Raises OSError if the file no longer has them."""
        if not spans:
            return []
        if self.archived:
            return self._read_archived(spans)
        with self.open() as stream:
            fd = stream.fileno()
            values = [os.pread(fd, length, offset) for offset, length in spans]
        for value, (offset, length) in zip(values, spans, strict=True):
            if len(value) != length:
                why = f"the file was truncated after it was read: it ends before byte {offset + length}"
                raise OSError(errno.EIO, why, self.path)
        return values

    def _read_archived(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """A compressed file has no random access: one pass serves all spans."""
        out = [b""] * len(spans)
        chunks = self._decompressed()
        buffer, start = bytearray(), 0  # what was decompressed last, and the offset of its first byte
        for i in sorted(range(len(spans)), key=lambda i: spans[i]):
            offset, length = spans[i]
            while start + len(buffer) < offset + length:
                if start + len(buffer) <= offset:
                    start += len(buffer)
                    buffer.clear()
                buffer += self._next_of(chunks)
            out[i] = bytes(buffer[offset - start : offset - start + length])
        return out

    def _next_of(self, chunks: Iterator[bytes]) -> bytes:
        import zlib

        try:
            return next(chunks)
        except (StopIteration, EOFError, zlib.error) as error:
            raise OSError(errno.EIO, "the archive was truncated or damaged after it was read", self.path) from error

    def notes(self) -> list[Note]:
        """What is wrong with the file."""
        skipped, details = self.log.notes()
        out = [self._skipped_note(*detail) for detail in details]
        if skipped > len(details):
            out.append(Note("damage", f"Skipped {plural(skipped - len(details), 'more damaged record')}.", self.path))
        end = self._end_note()
        return [*out, end] if end else out

    def _skipped_note(self, code: int, offset: int, length: int, got: int, want: int) -> Note:
        if code == reader.NOTE_PAYLOAD:
            why = f"its payload checksum is {got:#010x}, expected {want:#010x}"
        else:
            why = f"its {length} bytes are not an Event message"
        return Note("damage", f"Skipped 1 record: {why}. Later records were read.", self.path, offset)

    def _end_note(self) -> Note | None:
        log = self.log
        if self._archive_error is not None:
            what = f"The archive is damaged: {self._archive_error}. Read {plural(log.events, 'record')} before that."
            return Note("damage", what, self.path, log.offset)
        match log.end:
            case reader.END_CLEAN:
                return None
            case reader.END_BAD_LENGTH if log.offset == 0:
                return Note("unreadable", self._not_an_event_file(), self.path)
            case reader.END_BAD_LENGTH:
                what = (
                    "Skipped the rest of the file: a record's length fails its checksum, so the next record "
                    f"cannot be found. Read {plural(log.events, 'record')} before it."
                )
                return Note("damage", what, self.path, log.offset)
            case reader.END_HUGE:
                what = (
                    "Skipped the rest of the file: a record claims to be larger than 2 GiB, which no writer produces. "
                    f"Read {plural(log.events, 'record')} before it."
                )
                return Note("damage", what, self.path, log.offset)
            case reader.END_TORN:
                what = "The last record is incomplete: the file was truncated, or is still being written."
                return Note("info", what, self.path, log.offset)
            case reader.END_ERRNO if log.error != errno.ENOENT:
                return Note("unreadable", f"Cannot be read: {os.strerror(log.error)}.", self.path)
            case reader.END_NOT_A_FILE:
                return Note(
                    "unreadable", "Left out: it is named like an event file but is not a regular file.", self.path
                )
            case reader.END_OUTSIDE:
                return Note("info", "Left out: a link leads out of the log directories.", self.path)
            case reader.END_NO_MEMORY:
                return Note(
                    "unreadable", "Ran out of memory while reading. Close other programs or read fewer runs.", self.path
                )
            case _:
                return None

    def _not_an_event_file(self) -> str:
        try:
            with self.open() as stream:
                head = stream.read(64)
        except OSError:
            head = b""
        if head.startswith(_LFS_POINTER):
            return "This is a Git LFS pointer, not the event file itself. Fetch it with: git lfs pull."
        if head.startswith(b"\x1f\x8b"):
            return f"This is a gzip file. To have it read as an event file, add {layout.ARCHIVED_SUFFIX} to its name."
        return "This is not an event file: its first record's length fails its checksum."


def _record_bytes(data: bytes) -> int:
    """The size of the record that begins here, with its frame; 0 if not even its length is complete."""
    return int.from_bytes(data[:8], "little") + _FRAME_BYTES if len(data) >= _FRAME_BYTES else 0
