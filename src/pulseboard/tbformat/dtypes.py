"""TensorFlow's tensor types: their numbers, their names, and the TensorProto fields that hold their values."""

from __future__ import annotations

from typing import NamedTuple

from pulseboard.tbformat.wire import FIXED32, FIXED64, VARINT

STRING, BOOL, BFLOAT16, HALF = 7, 10, 14, 19


class Storage(NamedTuple):
    """How the values of a type are stored."""

    code: str  # NumPy's type code, little-endian; for bool, half and bfloat16, of their bits
    field: int  # of TensorProto, for values stored one by one
    wire: int


STORAGE = {
    1: Storage("<f4", 5, FIXED32),
    2: Storage("<f8", 6, FIXED64),
    3: Storage("<i4", 7, VARINT),
    4: Storage("|u1", 7, VARINT),
    5: Storage("<i2", 7, VARINT),
    6: Storage("|i1", 7, VARINT),
    8: Storage("<c8", 9, FIXED32),
    9: Storage("<i8", 10, VARINT),
    BOOL: Storage("|u1", 11, VARINT),
    11: Storage("|i1", 7, VARINT),  # quantized, like 12, 13, 15 and 16: read as stored
    12: Storage("|u1", 7, VARINT),
    13: Storage("<i4", 7, VARINT),
    BFLOAT16: Storage("<u2", 13, VARINT),
    15: Storage("<i2", 7, VARINT),
    16: Storage("<u2", 7, VARINT),
    17: Storage("<u2", 7, VARINT),
    18: Storage("<c16", 12, FIXED64),
    HALF: Storage("<u2", 13, VARINT),
    22: Storage("<u4", 16, VARINT),
    23: Storage("<u8", 17, VARINT),
}

INTEGER_FIELDS = (7, 10, 16, 17)
"""The TensorProto fields for int32 and shorter, int64, uint32 and uint64."""

NUMBERS = {
    "f4": 1,
    "f8": 2,
    "i4": 3,
    "u1": 4,
    "i2": 5,
    "i1": 6,
    "i8": 9,
    "b1": BOOL,
    "u2": 17,
    "f2": HALF,
    "u4": 22,
    "u8": 23,
    "c8": 8,
    "c16": 18,
}
"""The type number for an array, by NumPy's type code without the byte order."""

# fmt: off
_NAMES = (
    "INVALID", "FLOAT", "DOUBLE", "INT32", "UINT8", "INT16", "INT8", "STRING", "COMPLEX64", "INT64", "BOOL",
    "QINT8", "QUINT8", "QINT32", "BFLOAT16", "QINT16", "QUINT16", "UINT16", "COMPLEX128", "HALF", "RESOURCE",
    "VARIANT", "UINT32", "UINT64", "FLOAT8_E5M2", "FLOAT8_E4M3FN", "FLOAT8_E4M3FNUZ", "FLOAT8_E4M3B11FNUZ",
    "FLOAT8_E5M2FNUZ", "INT4", "UINT4", "INT2", "UINT2", "FLOAT4_E2M1FN",
)
# fmt: on

_REFERENCE = 100


def without_reference(number: int) -> int:
    """The base type of a reference type, which is numbered 100 higher."""
    return number - _REFERENCE if number > _REFERENCE else number


def dtype_name(number: int) -> str:
    """TensorFlow's name for a type: 'DT_FLOAT', 'DT_FLOAT_REF', or 'DT_99' if unknown."""
    base = without_reference(number)
    if not 0 <= base < len(_NAMES):
        return f"DT_{number}"
    return f"DT_{_NAMES[base]}" + ("_REF" if base != number else "")
