"""Binary columns: arrays after a small JSON header, which a browser reads without a library and without a copy.

    0   4 bytes  "PBC1"
    4   u32      length of the header
    8   JSON     {"revision", "series": [{..., "columns": {name: [offset, count, type]}}]}
        padding  to a multiple of 8
    ..  blocks   each at its offset from here, a multiple of 8

Everything is little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pulseboard.serve.http.responses import to_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"PBC1"
_DTYPES = {"f8": "<f8", "f4": "<f4", "u4": "<u4", "u1": "|u1"}


def encode(series: Iterable[tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]], *, revision: int) -> bytes:
    """Series, each as its header fields and its columns."""
    blocks: list[bytes | bytearray] = []
    offset = 0
    headers = []
    for fields, columns in series:
        positions = {}
        for name, values in columns.items():
            kind, data = _block(name, values)
            positions[name] = [offset, len(values), kind]
            blocks.append(data)
            offset += len(data)
            if offset % 8:
                blocks.append(bytes(-offset % 8))
                offset += -offset % 8
        headers.append({**fields, "columns": positions})
    header = to_json({"revision": revision, "series": headers})
    return b"".join([MAGIC, struct.pack("<I", len(header)), header, bytes(-(8 + len(header)) % 8), *blocks])


def _block(name: str, values: NDArray[Any]) -> tuple[str, bytes | bytearray]:
    from pulseboard.charts.windows import as_float32

    kind = "f8"  # exact for steps up to 2^53
    if name == "orphan":
        kind = "u1"
    elif values.dtype.kind in "ui":
        kind = "u4"
    elif name != "x" and (narrow := as_float32(values)) is not None:
        return "f4", narrow
    return kind, values.astype(_DTYPES[kind], copy=False).tobytes()
