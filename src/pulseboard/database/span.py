"""Where a value is that stayed in its log."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A part of an event file. Of an archived file, the part after decompression: archiving changes no span."""

    file: str  # its path on the host that pushed it, or its URL
    offset: int
    length: int
    crc: int  # CRC-32 of its bytes
