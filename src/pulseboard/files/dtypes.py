"""TensorFlow's types of tensor: their numbers, their names, and where a TensorProto keeps their values."""

from __future__ import annotations

from typing import NamedTuple

from pulseboard.files.wire import FIXED32, FIXED64, VARINT

STRING, BOOL, BFLOAT16, HALF = 7, 10, 14, 19


class Form(NamedTuple):
    """How the numbers of a type are stored."""

    code: str  # NumPy's, little-endian; for bool, half and bfloat16 that of their bits
    field: int  # of TensorProto, where the values stand one by one
    wire: int


FORMS = {
    1: Form("<f4", 5, FIXED32),
    2: Form("<f8", 6, FIXED64),
    3: Form("<i4", 7, VARINT),
    4: Form("|u1", 7, VARINT),
    5: Form("<i2", 7, VARINT),
    6: Form("|i1", 7, VARINT),
    8: Form("<c8", 9, FIXED32),
    9: Form("<i8", 10, VARINT),
    BOOL: Form("|u1", 11, VARINT),
    11: Form("|i1", 7, VARINT),  # quantized, like 12, 13, 15 and 16: the numbers as stored
    12: Form("|u1", 7, VARINT),
    13: Form("<i4", 7, VARINT),
    BFLOAT16: Form("<u2", 13, VARINT),
    15: Form("<i2", 7, VARINT),
    16: Form("<u2", 7, VARINT),
    17: Form("<u2", 7, VARINT),
    18: Form("<c16", 12, FIXED64),
    HALF: Form("<u2", 13, VARINT),
    22: Form("<u4", 16, VARINT),
    23: Form("<u8", 17, VARINT),
}

INTEGER_FIELDS = (7, 10, 16, 17)
"""The fields of TensorProto for int32 and shorter, int64, uint32 and uint64."""

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
"""The type that an array is written as, by NumPy's code without the byte order."""

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
    """The type itself, of a reference to it: those are numbered 100 above."""
    return number - _REFERENCE if number > _REFERENCE else number


def dtype_name(number: int) -> str:
    """TensorFlow's name of a type: 'DT_FLOAT', 'DT_FLOAT_REF', or 'DT_99' for one that is not known."""
    base = without_reference(number)
    if not 0 <= base < len(_NAMES):
        return f"DT_{number}"
    return f"DT_{_NAMES[base]}" + ("_REF" if base != number else "")
