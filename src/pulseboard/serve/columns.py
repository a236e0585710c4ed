"""Binary columns: arrays behind a small JSON header, which a browser reads without a library and without a copy.

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

from pulseboard.serve.answers import to_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"PBC1"
_TYPES = {"f8": "<f8", "f4": "<f4", "u4": "<u4", "u1": "|u1"}


def encode(series: Iterable[tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]], *, revision: int) -> bytes:
    """Series, each with what its header says and its columns."""
    blocks: list[bytes | bytearray] = []
    at = 0
    said = []
    for about, columns in series:
        places = {}
        for name, values in columns.items():
            kind, data = _block(name, values)
            places[name] = [at, len(values), kind]
            blocks.append(data)
            at += len(data)
            if at % 8:
                blocks.append(bytes(-at % 8))
                at += -at % 8
        said.append({**about, "columns": places})
    header = to_json({"revision": revision, "series": said})
    return b"".join([MAGIC, struct.pack("<I", len(header)), header, bytes(-(8 + len(header)) % 8), *blocks])


def _block(name: str, values: NDArray[Any]) -> tuple[str, bytes | bytearray]:
    from pulseboard.store.charts import narrowed

    kind = "f8"  # steps are exact up to 2^53
    if name == "orphan":
        kind = "u1"
    elif values.dtype.kind in "ui":
        kind = "u4"
    elif name != "x":
        narrow = narrowed(values)
        if narrow is not None:
            return "f4", narrow
    return kind, values.astype(_TYPES[kind], copy=False).tobytes()
