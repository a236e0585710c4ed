"""A log of records in LevelDB's format, after a header of seven bytes: W&B's and SwanLab's own files.

header    four letters, a number of two bytes, a version byte
block     32 KiB; fragments do not cross its end, and a rest shorter than a fragment's header is padding
fragment  u32 CRC-32 of type and data, u16 length, u8 type: 1 whole record, 2 first, 3 middle, 4 last part
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.read.parsing.prefix import Prefix
from pulseboard.rundir.regular_file import open_regular

_HEADER_BYTES = 7
_BLOCK_BYTES = 32 << 10
_FRAGMENT_HEADER = struct.Struct("<IHB")
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_MAX_RECORD_BYTES = 256 << 20
_MAX_DETAILED_NOTES = 3


class RecordLog:
    """The records of a file, in order. A file that grows is read on after the last complete record."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._notes: list[Note] = []
        self._skipped = 0
        self._torn: Note | None = None
        self._offset = _HEADER_BYTES  # of the current fragment
        self._next = _HEADER_BYTES  # after the last complete or damaged record
        self._prefix = Prefix()

    def has_only_grown(self) -> bool:
        """Whether the file still begins with what was read of it; otherwise another object must read it."""
        with open_regular(self.path) as stream:
            return self._prefix.is_start_of(stream)

    def records(self) -> Iterator[bytes]:
        """The bytes of each record after those of the last call. Damaged ones are skipped, after a damaged header up
        to the next block."""
        with open_regular(self.path) as stream:
            yield from self._records(stream)
            stream.seek(0, os.SEEK_END)
            self._prefix.remember(stream)

    def _records(self, stream: Any) -> Iterator[bytes]:
        size = os.fstat(stream.fileno()).st_size
        self._torn = None
        parts: list[bytes] = []
        offset = self._next
        stream.seek(offset)
        while offset < size:
            left = _BLOCK_BYTES - offset % _BLOCK_BYTES
            if left < _FRAGMENT_HEADER.size:
                stream.seek(left, os.SEEK_CUR)
                offset += left
                continue
            self._offset = offset
            header = stream.read(_FRAGMENT_HEADER.size)
            if len(header) < _FRAGMENT_HEADER.size:
                self._note_torn_tail()
                return
            checksum, length, kind = _FRAGMENT_HEADER.unpack(header)
            if not any(header):  # zeros that were allocated for a block: nothing was written there
                offset = self._next_block(stream, offset)
                continue
            if length > left - _FRAGMENT_HEADER.size or not _WHOLE <= kind <= _LAST:
                self.skip("its header is damaged")
                parts, offset = [], self._next_block(stream, offset)
                self._next = offset
                continue
            data = stream.read(length)
            if len(data) < length:
                self._note_torn_tail()
                return
            offset += _FRAGMENT_HEADER.size + length
            if zlib.crc32(data, zlib.crc32(bytes([kind]))) != checksum:
                self.skip("its checksum is wrong")
                parts = []
            elif kind == _WHOLE:
                yield data
            elif kind == _FIRST:
                parts = [data]
            elif parts and sum(map(len, parts)) < _MAX_RECORD_BYTES:
                parts.append(data)
                if kind == _LAST:
                    yield b"".join(parts)
                    parts = []
            if not parts:
                self._next = offset
        if parts:
            self._note_torn_tail()

    def _next_block(self, stream: Any, offset: int) -> int:
        offset += _BLOCK_BYTES - offset % _BLOCK_BYTES
        stream.seek(offset)
        return offset

    def skip(self, why: str) -> None:
        """Count a record that cannot be used. The first few get a note of their own."""
        self._skipped += 1
        if self._skipped <= _MAX_DETAILED_NOTES:
            what = f"Skipped 1 record: {why}. Later records were read."
            self._notes.append(Note("damage", what, self.path, self._offset))

    def _note_torn_tail(self) -> None:
        what = "The last record is incomplete: the file was truncated, or is still being written."
        self._torn = Note("info", what, self.path, self._offset)

    def notes(self) -> list[Note]:
        """What is wrong with the file."""
        torn = [] if self._torn is None else [self._torn]
        more = self._skipped - _MAX_DETAILED_NOTES
        if more > 0:
            torn.append(Note("damage", f"Skipped {plural(more, 'more damaged record')}.", self.path))
        return [*self._notes, *torn]
