"""Whether a file still begins with the bytes that were read of it, without reading all of them again."""

from __future__ import annotations

import os
import zlib
from typing import BinaryIO

# What is compared: the last bytes that were read, and a block at every multiple of the stride, some of them each time.
_BLOCK_BYTES = 4096
_STRIDE_BYTES = 1 << 20
_BLOCKS_PER_CHECK = 32
# Less is read again instead: the first bytes of a text decide how it is read.
_MIN_BYTES = 64 << 10


class Prefix:
    """What is remembered of the part of a file that was read.

    A file that was truncated, replaced or written again with other contents is noticed if its size fell, if it has
    another inode, if it changed without growing, or if one of the compared blocks differs.
    """

    def __init__(self) -> None:
        self._size = 0
        self._identity = (0, 0)
        self._mtime_ns = 0
        self._last_block = 0
        self._blocks: list[int] = []  # checksums
        self._turn = 0

    def remember(self, stream: BinaryIO) -> None:
        """Remember what was read: everything up to the position of the stream."""
        self._size = stream.tell()
        state = os.fstat(stream.fileno())
        self._identity, self._mtime_ns = (state.st_dev, state.st_ino), state.st_mtime_ns
        while (start := len(self._blocks) * _STRIDE_BYTES) + _BLOCK_BYTES <= self._size:
            self._blocks.append(_checksum(stream, start, start + _BLOCK_BYTES))
        self._last_block = _checksum(stream, self._size - _BLOCK_BYTES, self._size)
        stream.seek(self._size)

    def is_start_of(self, stream: BinaryIO) -> bool:
        """Whether the file begins with what was read, as far as can be seen. False if that was very little."""
        state = os.fstat(stream.fileno())
        if self._size < _MIN_BYTES or (state.st_dev, state.st_ino) != self._identity or state.st_size < self._size:
            return False
        if state.st_size == self._size and state.st_mtime_ns != self._mtime_ns:
            return False
        if _checksum(stream, self._size - _BLOCK_BYTES, self._size) != self._last_block:
            return False
        starts = ((i, i * _STRIDE_BYTES) for i in self._chosen())
        return all(_checksum(stream, start, start + _BLOCK_BYTES) == self._blocks[i] for i, start in starts)

    def _chosen(self) -> list[int]:
        """The first block, and others in turn."""
        count = len(self._blocks)
        begin, self._turn = self._turn, self._turn + _BLOCKS_PER_CHECK
        return sorted({*range(min(count, 1)), *((begin + i) % count for i in range(min(count, _BLOCKS_PER_CHECK)))})


def _checksum(stream: BinaryIO, start: int, end: int) -> int:
    start = max(0, start)
    stream.seek(start)
    return zlib.crc32(stream.read(end - start))
