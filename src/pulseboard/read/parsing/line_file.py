"""Feeds the lines of a file to a table, chunk by chunk, from where it stopped the last time."""

from __future__ import annotations

import codecs
import os
from typing import Protocol

from pulseboard.read.parsing import text
from pulseboard.read.parsing.prefix import Prefix
from pulseboard.rundir.regular_file import open_regular

_CHUNK_BYTES = 4 << 20
_BREAKS = (b"\n", b"\r")


# Larger files are worth a second thread.
_MIN_THREADED_BYTES = 4 << 20


def threads_for(path: str) -> int:
    """How many threads to read a file with."""
    return 2 if os.path.getsize(path) > _MIN_THREADED_BYTES else 1


class Table(Protocol):
    """What lines are fed to."""

    def feed(self, data: bytes, *, last: bool = False) -> int:
        """Take complete lines; returns the bytes used. With `last`, an unfinished line counts."""


class LineFile:
    """A text file of any Unicode encoding. Memory is bounded, whatever the length of a line."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_text = True
        self.rest = b""
        """What follows the last line break: a line that may still be being written."""
        self.skipped_lines = 0  # too long
        self._offset = 0
        self._prefix = Prefix()
        self._decoder: codecs.IncrementalDecoder | None = None  # None: the bytes are UTF-8, or nearly
        self._skipping = False
        self._half_break = False  # the last byte was a \r that was taken for a line break: a \n belongs to it

    def feed(self, table: Table) -> bool:
        """Feed the complete lines that were added since the last call. Raises OSError if the file cannot be read.

        False, and nothing is fed, if the file no longer begins with what was read of it, or if that was very little:
        then it must be read from the start, with another object.
        """
        with open_regular(self.path) as stream:
            if self._offset and not self._prefix.is_start_of(stream):
                return False
            stream.seek(self._offset)
            while self.is_text and (chunk := stream.read(_CHUNK_BYTES)):
                if not self._offset:
                    chunk = self._begin(chunk)
                self._offset = stream.tell()
                self._feed(table, self._decoded(chunk))
            self._prefix.remember(stream)
        # Within quotes it may be part of a cell.
        if self.rest.endswith(b"\r") and b'"' not in self.rest:
            table.feed(self.rest, last=True)
            self.rest, self._half_break = b"", True
        return True

    def _begin(self, chunk: bytes) -> bytes:
        encoding = text.encoding_of(chunk)
        self.is_text = encoding is not None
        if encoding == "utf-8-sig":
            return chunk.removeprefix(codecs.BOM_UTF8)
        if encoding not in (None, "utf-8"):
            self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        return chunk

    def _decoded(self, chunk: bytes) -> bytes:
        if self._decoder is None:
            return chunk if self.is_text else b""
        return self._decoder.decode(chunk).encode("utf-8", "replace")

    def _feed(self, table: Table, data: bytes) -> None:
        if data and self._half_break:
            data, self._half_break = data.removeprefix(b"\n"), False
        may_be_too_long = len(self.rest) + len(data) > text.MAX_LINE_CHARS and not self._skipping
        if may_be_too_long and len(self.rest) + _first_break(data) > text.MAX_LINE_CHARS:
            self._skip()
        if self._skipping:
            end = _first_break(data)
            if end == len(data):
                return
            data, self._skipping = data[end:], False
        data = self.rest + data if self.rest else data
        used = table.feed(data)
        self.rest = data[used:]
        if len(self.rest) > text.MAX_LINE_CHARS:
            self._skip()

    def _skip(self) -> None:
        """Leave out the line that `rest` begins."""
        self.rest, self._skipping = b"", True
        self.skipped_lines += 1

    @property
    def has_unfinished_line(self) -> bool:
        """Whether the file ends within a line."""
        return bool(self.rest.strip()) or self._skipping


def _first_break(data: bytes) -> int:
    """Where the first line of some bytes ends; their length if it does not."""
    return min((end for mark in _BREAKS if (end := data.find(mark)) >= 0), default=len(data))
