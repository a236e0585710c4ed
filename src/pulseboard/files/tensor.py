"""TensorProto: arrays read in every form a writer may choose, and written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pulseboard.files.dtypes import (
    BFLOAT16,
    BOOL,
    FORMS,
    HALF,
    INTEGER_FIELDS,
    NUMBERS,
    STRING,
    dtype_name,
    without_reference,
)
from pulseboard.files.wire import VARINT, MalformedMessage, Message, bytes_field, read_varint, varint_field

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

# Fields of TensorProto beside those of the numbers.
_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8

# TensorFlow lets the last stored value stand for all that follow, so a few bytes can claim any number
# of elements, and a small file can make thousands of such claims. Where one value stands for the whole
# tensor it is shared and takes no memory: the limit, a constant 4096 x 4096 matrix, is for those who
# will copy it. Where elements are laid out, they stay in proportion to what the file stores.
MAX_SHARED = 1 << 24
MAX_LAID_OUT = 1 << 10
_LAID_OUT_TIMES = 16
# An array of a billion empty rows has no elements, and still breaks whoever makes a list of it.
_MAX_EMPTY_ROWS = 1 << 16

# NumPy 1 has no more, and TensorFlow's own operations stop at 8.
_MAX_RANK = 32


def read_tensor(tensor: Message, *, max_shared: int = MAX_SHARED) -> NDArray[Any]:
    """A TensorProto as a read-only array; bfloat16 as float32, strings as an object array of bytes.

    Whoever copies the array into memory passes MAX_LAID_OUT as the most elements that one stored
    value may stand for.
    """
    import numpy as np

    dtype = _dtype_of(tensor)
    if dtype == STRING:
        shape, items = read_strings(tensor)
        values = np.empty(len(items), np.object_)
        values[:] = items
        return _shaped(values, shape=shape, at=tensor.start)
    if dtype not in FORMS:
        raise MalformedMessage(f"A tensor of {dtype_name(dtype)} holds no numbers or strings", at=tensor.start)
    content = tensor.blob(_CONTENT)
    numbers = _from_content(content, dtype=dtype, at=tensor.start) if content else _from_fields(tensor, dtype=dtype)
    shape = _shape_of(tensor, stored=len(numbers))
    limit = max_shared if len(numbers) <= 1 else _most_laid_out(len(numbers))
    count = _count(shape, stored=len(numbers), limit=limit, exact=bool(content), at=tensor.start)
    return _shaped(_filled(numbers, count=count), shape=shape, at=tensor.start)


def read_strings(tensor: Message) -> tuple[tuple[int, ...], list[bytes]]:
    """(shape, items in row-major order) of a TensorProto that must hold strings."""
    dtype = _dtype_of(tensor)
    if dtype != STRING:
        raise MalformedMessage(f"Strings should stand here, not {dtype_name(dtype)}", at=tensor.start)
    content = tensor.blob(_CONTENT)
    items = _strings_from_content(content, tensor=tensor) if content else tensor.blobs(_STRINGS)
    shape = _shape_of(tensor, stored=len(items))
    limit = _most_laid_out(len(items))
    count = _count(shape, stored=len(items), limit=limit, exact=bool(content), at=tensor.start)
    return shape, items + [items[-1] if items else b""] * (count - len(items))


def read_dimensions(shape: Message) -> tuple[int, ...] | None:
    """A TensorShapeProto: its sizes, -1 for one that is not known; None where the rank is not."""
    return None if shape.boolean(3) else tuple(dimension.integer(1) for dimension in shape.messages(2))


# ---------- the shape


def _dtype_of(tensor: Message) -> int:
    return without_reference(tensor.integer(_DTYPE))


def _shape_of(tensor: Message, *, stored: int) -> tuple[int, ...]:
    # Some writers leave the shape out. For one value that means a scalar, as protobuf has it; for
    # several it can only mean a list.
    if not tensor.has(_SHAPE):
        return () if stored <= 1 else (stored,)
    shape = read_dimensions(tensor.message(_SHAPE))
    if shape is None or min(shape, default=0) < 0:
        raise MalformedMessage(f"A tensor's shape is not fully known: {_brief(shape)}", at=tensor.start)
    if len(shape) > _MAX_RANK:
        raise MalformedMessage(
            f"A tensor has {len(shape)} dimensions; at most {_MAX_RANK} can be read", at=tensor.start
        )
    if 0 in shape and math.prod(shape[: shape.index(0)]) > _MAX_EMPTY_ROWS:
        raise MalformedMessage(f"A tensor is all empty rows ({_brief(shape)})", at=tensor.start)
    return shape


def _brief(shape: tuple[int, ...] | None) -> str:
    if shape is None:
        return "of unknown rank"
    return "x".join(map(str, shape[:8])) + ("x..." if len(shape) > 8 else "")


def _most_laid_out(stored: int) -> int:
    return max(MAX_LAID_OUT, _LAID_OUT_TIMES * stored)


def _count(shape: tuple[int, ...], *, stored: int, limit: int, exact: bool, at: int) -> int:
    """The elements of a shape, if so many may come from what is stored."""
    count = math.prod(shape)
    if (stored <= count <= limit and not exact) or stored == count:
        return count
    claim = f"A tensor claims {count if count < 1 << 64 else 'over 2**64'} elements ({_brief(shape)})"
    rest = f"; beyond {limit} elements none may be left out" if count > limit and not exact else ""
    raise MalformedMessage(f"{claim} and stores {stored}{rest}", at=at)


def _filled(values: NDArray[Any], *, count: int) -> NDArray[Any]:
    """TensorFlow's rule: the last value stands for all that are missing, and zero where none is stored."""
    import numpy as np

    if len(values) == count:
        return values
    if len(values) > 1:
        return np.pad(values, (0, count - len(values)), mode="edge")
    one = values if len(values) else np.zeros(1, values.dtype)
    return np.broadcast_to(one, (count,))  # takes no memory until someone copies it


def _shaped(values: NDArray[Any], *, shape: tuple[int, ...], at: int) -> NDArray[Any]:
    try:
        array = values.reshape(shape)
    except ValueError as error:  # no element, but sizes beyond what NumPy can count
        raise MalformedMessage(f"No array has the shape {_brief(shape)}", at=at) from error
    array.flags.writeable = False
    return array


# ---------- the values


def _from_content(content: bytes, *, dtype: int, at: int) -> NDArray[Any]:
    import numpy as np

    code = np.dtype(FORMS[dtype].code)
    if len(content) % code.itemsize:
        raise MalformedMessage(f"{len(content)} bytes are no whole number of {dtype_name(dtype)} values", at=at)
    values: NDArray[Any] = np.frombuffer(content, code)
    if dtype == BOOL:
        return values.astype(np.bool_)
    if dtype == HALF:
        return values.view("<f2")
    return _from_bfloat16(values) if dtype == BFLOAT16 else values


def _from_fields(tensor: Message, *, dtype: int) -> NDArray[Any]:
    import numpy as np

    form = FORMS[dtype]
    field = form.field
    if field in INTEGER_FIELDS and not tensor.has(field):
        # torch's add_tensor keeps uint8 where uint32 belongs; read as absent, it would be all zeros.
        field = next(filter(tensor.has, INTEGER_FIELDS), field)
    packed = tensor.packed(field, wire=form.wire)
    if form.wire != VARINT:
        code = np.dtype(form.code)
        if len(packed) % code.itemsize:
            raise MalformedMessage("A complex number has no imaginary part", at=tensor.start)
        return np.frombuffer(packed, code)
    numbers = _varints(packed, at=tensor.start)
    if dtype == BOOL:
        return numbers.astype(np.bool_)
    if dtype in (HALF, BFLOAT16):
        return _from_half_fields(numbers.astype("<u4"), dtype=dtype)
    return numbers.astype(form.code)


def _varints(packed: bytes, *, at: int) -> NDArray[np.uint64]:
    """Numbers packed together, all at once: one by one takes a second for a million."""
    import numpy as np

    octets = np.frombuffer(packed, np.uint8)
    ends = np.flatnonzero(octets < 0x80) + 1
    if len(ends) == len(octets):
        return octets.astype(np.uint64)
    starts = np.concatenate(([0], ends[:-1]))
    lengths = ends - starts
    if lengths.max() > 10:
        raise MalformedMessage("A number is longer than 10 bytes", at=at)
    place = np.arange(len(octets)) - np.repeat(starts, lengths)
    bits = (octets & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.bitwise_or.reduceat(bits, starts)


def _from_half_fields(numbers: NDArray[np.uint32], *, dtype: int) -> NDArray[Any]:
    """16 bits each; or 32, which is the float32 that torch's add_tensor writes here instead.

    The two cannot be confused: a float32 made from 16 bits has its low bits empty, so that all but
    zero are above 65535, and zero is the same in both.
    """
    import numpy as np

    short = numbers.astype("<u2")
    with np.errstate(all="ignore"):  # a NaN may be a signalling one
        narrow = short.view("<f2") if dtype == HALF else _from_bfloat16(short)
        return np.where(numbers > 0xFFFF, numbers.view("<f4").astype(narrow.dtype), narrow)


def _from_bfloat16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    return (bits.astype("<u4") << 16).view("<f4")


def _strings_from_content(content: bytes, *, tensor: Message) -> list[bytes]:
    """All lengths, then all bytes: TensorFlow's C++ keeps strings so when told to write content."""
    lengths, at = [], 0
    # The shape may claim any count. Each length takes a byte, so the loop ends with the bytes at the latest.
    for _ in range(min(math.prod(_shape_of(tensor, stored=1)), len(content) + 1)):
        length, at = read_varint(content, start=at, end=len(content))
        lengths.append(length)
    if at + sum(lengths) != len(content):
        raise MalformedMessage(
            f"Strings of {sum(lengths)} bytes stand in {len(content) - at} bytes of content", at=tensor.start
        )
    items = []
    for length in lengths:
        items.append(content[at : at + length])
        at += length
    return items


# ---------- writing


def tensor_bytes(array: NDArray[Any]) -> bytes:
    """An array of numbers or of strings as a TensorProto message."""
    if array.dtype.kind in "OSU":
        return string_tensor_bytes(array.ravel().tolist(), shape=array.shape)
    number = NUMBERS.get(array.dtype.str[1:])
    if number is None:
        raise ValueError(f"An array of {array.dtype} cannot be written; convert it to float32, float64 or int64.")
    content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return _header(number, shape=array.shape) + (bytes_field(_CONTENT, value=content) if content else b"")


def bfloat16_tensor_bytes(bits: NDArray[np.uint16]) -> bytes:
    """The same for bfloat16, which NumPy does not have: an array of its bits."""
    return _header(BFLOAT16, shape=bits.shape) + bytes_field(_CONTENT, value=bits.astype("<u2", copy=False).tobytes())


def float_tensor_bytes(array: NDArray[Any]) -> bytes:
    """An array as float32, value by value as torch writes it. What is too large is infinite."""
    import numpy as np

    with np.errstate(over="ignore"):
        values = array.astype("<f4").tobytes()
    return _header(1, shape=array.shape) + bytes_field(FORMS[1].field, value=values)


def string_tensor_bytes(items: Sequence[str | bytes], *, shape: tuple[int, ...] | None = None) -> bytes:
    """Strings as a TensorProto message; without a shape, a list of them. A scalar has the shape ()."""
    encoded = (item.encode("utf-8") if isinstance(item, str) else item for item in items)
    strings = b"".join(bytes_field(_STRINGS, value=item) for item in encoded)
    return _header(STRING, shape=(len(items),) if shape is None else shape) + strings


def _header(dtype: int, *, shape: tuple[int, ...]) -> bytes:
    sizes = b"".join(bytes_field(2, value=varint_field(1, value=size)) for size in shape)
    return varint_field(_DTYPE, value=dtype) + bytes_field(_SHAPE, value=sizes)
