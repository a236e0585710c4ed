"""ClickHouse's Native format: answers that hold numbers only, as arrays.

An answer is a sequence of blocks. A block has the columns one after the other, so nothing is decoded:

    varint  number of columns
    varint  number of rows
    for each column:
        varint, bytes   name
        varint, bytes   type
        rows * width    values, little-endian
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DTYPES = {
    "UInt8": "<u1", "Bool": "<u1", "UInt32": "<u4", "UInt64": "<u8", "Int64": "<i8", "Float64": "<f8",
}  # fmt: skip


def columns(data: bytes, dtypes: Sequence[Any]) -> list[NDArray[Any]]:
    """The columns of an answer, which must be of these types."""
    expected = [np.dtype(one) for one in dtypes]
    pieces: list[list[NDArray[Any]]] = [[np.empty(0, one)] for one in expected]
    at = 0
    while at < len(data):
        n_columns, at = _varint(data, at)
        n_rows, at = _varint(data, at)
        assert n_columns == len(expected)
        for dtype, piece in zip(expected, pieces, strict=True):
            _, at = _text(data, at)
            kind, at = _text(data, at)
            assert _DTYPES[kind] == dtype.str.replace("|", "<"), (kind, dtype)
            piece.append(np.frombuffer(data, dtype, n_rows, at))
            at += n_rows * dtype.itemsize
    # Copies: the columns of a block begin anywhere, and arrays must be aligned.
    return [np.concatenate(piece) for piece in pieces]


def _text(data: bytes, at: int) -> tuple[str, int]:
    length, at = _varint(data, at)
    return data[at : at + length].decode(), at + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at
