"""The keys and values of a small RocksDB database, read from its files: it is not opened, locked or changed.

Tables (*.sst) hold sorted blocks; the newest writes are in a log (*.log). Every write has a number, and of several with
the same key the one with the highest number counts. Files that a compaction is about to delete do no harm: their writes
were copied with their numbers.

table   data blocks … index block … footer
footer  u8 checksum type, varints: offset and size of the meta index, then of the index; padding to 41 bytes,
        u32 version, u64 magic number
block   entries, u32 offsets of restarts, u32 count of restarts; after it: u8 compression, u32 checksum
entry   varints: bytes shared with the key before, other bytes of the key, bytes of the value; key, value
key     user key, u64: number of the write << 8 | kind
log     fragments as in LevelDB (parsing/record_log.py); each record is a batch
batch   u64 number of its first write, u32 count; writes: u8 kind, key, value
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from pulseboard.rundir.regular_file import open_regular
from pulseboard.tbformat.wire import MalformedMessage, read_varint

_FOOTER_BYTES, _HANDLES_BYTES = 53, 41
_MAGIC = 0x88E241B785F4CFF7
_NO_COMPRESSION, _SNAPPY = 0, 1
_DELTA_VERSION = 4  # from this version on, entries of the index have no length of their value
_DELETION, _VALUE, _MERGE, _LOG_DATA, _FAMILY_DELETION, _FAMILY_VALUE, _SINGLE_DELETION = 0, 1, 2, 3, 4, 5, 7
_BLOCK_BYTES, _FRAGMENT_HEADER = 32 << 10, struct.Struct("<IHB")
_MAX_BYTES = 1 << 30
_MAX_BLOCK_BYTES = 256 << 20

_RANGE_DELETION, _FAMILY_RANGE_DELETION = 15, 14
_RANGE_DELETIONS = b"rocksdb.range_del"


@dataclass(frozen=True, slots=True)
class _Write:
    """A key that got a value or was deleted, or a range of keys that was deleted."""

    number: int
    key: bytes
    value: bytes | None = None  # None: deleted
    end: bytes | None = None  # all keys from `key` up to here were deleted


class NotADatabase(ValueError):
    """The files are damaged, or have a form that is not read."""


def read_database(directory: str) -> dict[bytes, bytes]:
    """Every key with its value. Raises NotADatabase or OSError."""
    names = sorted(os.listdir(directory))
    paths = [os.path.join(directory, name) for name in names if name.endswith((".sst", ".log"))]
    if sum(map(os.path.getsize, paths)) > _MAX_BYTES:
        raise NotADatabase(f"it is larger than {_MAX_BYTES >> 30} GiB")
    newest: dict[bytes, _Write] = {}
    deleted: list[_Write] = []
    for path in paths:
        with open_regular(path) as stream:
            data = stream.read()
        try:
            for write in _table(data) if path.endswith(".sst") else _log(data):
                before = newest.get(write.key)
                if write.end is not None:
                    deleted.append(write)
                elif before is None or write.number >= before.number:
                    newest[write.key] = write
        except (IndexError, struct.error, MalformedMessage, OverflowError) as error:
            raise NotADatabase(f"{os.path.basename(path)} is damaged: {error}") from error
    _delete(newest, deleted)
    return {key: write.value for key, write in newest.items() if write.value is not None}


def _delete(newest: dict[bytes, _Write], deleted: list[_Write]) -> None:
    """Remove the keys in deleted ranges that were not written again."""
    keys = sorted(newest)
    for one in deleted:
        assert one.end is not None
        for key in keys[bisect_left(keys, one.key) : bisect_left(keys, one.end)]:
            if key in newest and newest[key].number < one.number:
                del newest[key]


# ---- tables


def _table(data: bytes) -> Iterator[_Write]:
    if len(data) < _FOOTER_BYTES or struct.unpack_from("<Q", data, len(data) - 8)[0] != _MAGIC:
        raise NotADatabase("a table has no footer")
    footer = data[-_FOOTER_BYTES:]
    (version,) = struct.unpack_from("<I", footer, _HANDLES_BYTES)
    at = 1
    handles = []
    for _ in range(4):
        number, at = read_varint(footer, start=at, end=_HANDLES_BYTES)
        handles.append(number)
    for _, handle in _entries(_block(data, *handles[2:]), has_lengths=version < _DELTA_VERSION):
        for key, stored in _entries(_block(data, *_handle(handle)), has_lengths=True):
            (tail,) = struct.unpack("<Q", key[-8:])
            kind = tail & 0xFF
            if kind == _MERGE:
                raise NotADatabase("it has values that only its program can merge")
            yield _Write(tail >> 8, key[:-8], stored if kind == _VALUE else None)
    for name, handle in _entries(_block(data, *handles[:2]), has_lengths=True):
        if name == _RANGE_DELETIONS:
            for key, end in _entries(_block(data, *_handle(handle)), has_lengths=True):
                yield _Write(struct.unpack("<Q", key[-8:])[0] >> 8, key[:-8], end=end)


def _handle(value: bytes) -> tuple[int, int]:
    """The offset and size of a block."""
    offset, at = read_varint(value, start=0, end=len(value))
    return offset, read_varint(value, start=at, end=len(value))[0]


def _block(data: bytes, offset: int, size: int) -> bytes:
    if offset + size >= len(data):
        raise NotADatabase("a block lies behind the end of its table")
    compression = data[offset + size]
    if compression == _NO_COMPRESSION:
        return data[offset : offset + size]
    if compression == _SNAPPY:
        return uncompressed(data[offset : offset + size])
    raise NotADatabase(f"its compression, number {compression}, is not supported")


def _entries(block: bytes, *, has_lengths: bool) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block. Without lengths, as in an index, a value ends where two varints end."""
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 - 4 * (restarts & 0x7FFFFFFF)
    at, key = 0, b""
    while at < end:
        shared, at = read_varint(block, start=at, end=end)
        other, at = read_varint(block, start=at, end=end)
        length = 0
        if has_lengths:
            length, at = read_varint(block, start=at, end=end)
        if shared > len(key) or at + other + length > end:
            raise NotADatabase("an entry is longer than its block")
        key = key[:shared] + block[at : at + other]
        at += other
        stop = at + length
        if not has_lengths:
            _, stop = read_varint(block, start=at, end=end)
            _, stop = read_varint(block, start=stop, end=end)
        yield key, block[at:stop]
        at = stop


def uncompressed(data: bytes) -> bytes:
    """Snappy's block format: pieces that are spelled out, and copies of what came before."""
    size, at = read_varint(data, start=0, end=len(data))
    if size > _MAX_BLOCK_BYTES:
        raise NotADatabase("a block is too large")
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        kind, length = tag & 3, (tag >> 2) + 1
        if kind == 0:
            if length > 60:
                count = length - 60
                length = int.from_bytes(data[at : at + count], "little") + 1
                at += count
            out += data[at : at + length]
            at += length
        else:
            if kind == 1:
                length, back, used = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[at], 1
            else:
                used = 2 if kind == 2 else 4
                back = int.from_bytes(data[at : at + used], "little")
            at += used
            if not 0 < back <= len(out):
                raise NotADatabase("a copy begins before its block")
            piece = bytes(out[len(out) - back : len(out) - back + length])
            out += (piece * (length // len(piece) + 1))[:length]
        if len(out) > size:
            raise NotADatabase("a block is larger than it says")
    if len(out) != size:
        raise NotADatabase("a block is smaller than it says")
    return bytes(out)


# ---- the log of the newest writes


def _log(data: bytes) -> Iterator[_Write]:
    """The writes in a log up to its end, which may be torn."""
    record = b""
    at = 0
    while at + _FRAGMENT_HEADER.size <= len(data):
        left = _BLOCK_BYTES - at % _BLOCK_BYTES
        if left < _FRAGMENT_HEADER.size:
            at += left
            continue
        _, length, kind = _FRAGMENT_HEADER.unpack_from(data, at)
        start = at + _FRAGMENT_HEADER.size + (4 if kind > 4 else 0)  # recycled logs repeat their number
        kind = kind - 4 if kind > 4 else kind
        if not 1 <= kind <= 4 or start + length > len(data):
            return
        at = start + length
        record = data[start:at] if kind <= 2 else record + data[start:at]
        if kind in (1, 4):
            yield from _batch(record)


def _batch(record: bytes) -> Iterator[_Write]:
    first, count = struct.unpack_from("<QI", record)
    at = 12

    def text() -> bytes:
        nonlocal at
        length, at = read_varint(record, start=at, end=len(record))
        at += length
        if at > len(record):
            raise NotADatabase("a write is longer than its batch")
        return record[at - length : at]

    done = 0
    while at < len(record) and done < count:
        kind = record[at]
        at += 1
        if kind in (_FAMILY_DELETION, _FAMILY_VALUE, _FAMILY_RANGE_DELETION):
            _, at = read_varint(record, start=at, end=len(record))
        if kind in (_VALUE, _FAMILY_VALUE):
            yield _Write(first + done, text(), text())
        elif kind in (_DELETION, _FAMILY_DELETION, _SINGLE_DELETION):
            yield _Write(first + done, text())
        elif kind in (_RANGE_DELETION, _FAMILY_RANGE_DELETION):
            yield _Write(first + done, text(), end=text())
        elif kind == _LOG_DATA:
            text()
            continue
        else:
            raise NotADatabase(f"a write of kind {kind} is not supported")
        done += 1
