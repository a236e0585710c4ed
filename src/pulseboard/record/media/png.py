"""PNG: encodes 8-bit pixels, using only zlib."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# PNG's color types by number of channels: gray, gray with alpha, RGB, RGBA.
_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
# Each row is stored as its difference from the row above. The filter type is the first byte of every row.
_FILTER_UP = 2
# Level 3: on photographs half the time of level 6, and files 2 % larger (docs/design/dependencies-record.md).
_LEVEL = 3


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG of an array of height x width x channels, with 1 to 4 channels."""
    import numpy as np

    if pixels.ndim != 3 or pixels.shape[2] not in _COLOR_TYPES:
        raise TypeError(f"An image must be height x width x 1 to 4 channels; this has shape {pixels.shape}.")
    height, width, channels = pixels.shape
    if not (height and width):
        raise ValueError(f"An image must have at least one pixel; this is {width} x {height}.")
    rows = pixels.reshape(height, width * channels)
    filtered = np.empty((height, width * channels + 1), np.uint8)
    filtered[:, 0] = _FILTER_UP
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPES[channels], 0, 0, 0)
    content = zlib.compress(filtered.tobytes(), _LEVEL)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", content) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(content, zlib.crc32(kind))
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
