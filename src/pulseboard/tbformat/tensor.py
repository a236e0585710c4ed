"""TensorProto: arrays decoded from every form a writer may choose, and encoded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pulseboard.tbformat.dtypes import (
    BFLOAT16,
    BOOL,
    HALF,
    INTEGER_FIELDS,
    NUMBERS,
    STORAGE,
    STRING,
    dtype_name,
    without_reference,
)
from pulseboard.tbformat.wire import VARINT, MalformedMessage, Message, bytes_field, read_varint, varint_field

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

# Fields of TensorProto, in addition to those for numbers.
_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8

# In a TensorProto the last stored value also fills the rest of the shape, so a few bytes can claim any number of
# elements, and a small file can contain thousands of such claims. If one value fills the whole tensor, it is
# broadcast and takes no memory; MAX_BROADCAST (a constant 4096 x 4096 matrix) protects code that copies it. If elements
# have to be allocated, their number stays in proportion to the stored ones.
MAX_BROADCAST = 1 << 24
MAX_ALLOCATED = 1 << 10
_MAX_ALLOCATED_RATIO = 16
# An array of a billion empty rows has no elements, but a list made from it exhausts the memory.
_MAX_EMPTY_ROWS = 1 << 16

# NumPy 1's limit. TensorFlow's own operations stop at 8.
_MAX_RANK = 32


def read_tensor(tensor: Message, *, max_broadcast: int = MAX_BROADCAST) -> NDArray[Any]:
    """A TensorProto as a read-only array; bfloat16 as float32, strings as an object array of bytes.

    One stored value may fill up to `max_broadcast` elements. Callers that copy the array should pass MAX_ALLOCATED.
    """
    import numpy as np

    dtype = _dtype_of(tensor)
    if dtype == STRING:
        shape, items = read_strings(tensor)
        values = np.empty(len(items), np.object_)
        values[:] = items
        return _shaped(values, shape=shape, at=tensor.start)
    if dtype not in STORAGE:
        raise MalformedMessage(f"A tensor of {dtype_name(dtype)} has no numbers or strings", at=tensor.start)
    content = tensor.blob(_CONTENT)
    numbers = _from_content(content, dtype=dtype, at=tensor.start) if content else _from_fields(tensor, dtype=dtype)
    shape = _shape_of(tensor, stored=len(numbers))
    limit = max_broadcast if len(numbers) <= 1 else _max_allocated(len(numbers))
    count = _count(shape, stored=len(numbers), limit=limit, exact=bool(content), at=tensor.start)
    return _shaped(_filled(numbers, count=count), shape=shape, at=tensor.start)


def read_strings(tensor: Message) -> tuple[tuple[int, ...], list[bytes]]:
    """(shape, items in row-major order) of a TensorProto, which must have strings."""
    dtype = _dtype_of(tensor)
    if dtype != STRING:
        raise MalformedMessage(f"Expected strings, not {dtype_name(dtype)}", at=tensor.start)
    content = tensor.blob(_CONTENT)
    items = _strings_from_content(content, tensor=tensor) if content else tensor.blobs(_STRINGS)
    shape = _shape_of(tensor, stored=len(items))
    limit = _max_allocated(len(items))
    count = _count(shape, stored=len(items), limit=limit, exact=bool(content), at=tensor.start)
    return shape, items + [items[-1] if items else b""] * (count - len(items))


def read_dimensions(shape: Message) -> tuple[int, ...] | None:
    """The sizes of a TensorShapeProto, -1 for an unknown one; None if the rank is unknown."""
    return None if shape.boolean(3) else tuple(dimension.integer(1) for dimension in shape.messages(2))


# ---------- the shape


def _dtype_of(tensor: Message) -> int:
    return without_reference(tensor.integer(_DTYPE))


def _shape_of(tensor: Message, *, stored: int) -> tuple[int, ...]:
    # Some writers leave the shape out. For one value that means a scalar, by protobuf's defaults; for several it can
    # only mean a list.
    if not tensor.has(_SHAPE):
        return () if stored <= 1 else (stored,)
    shape = read_dimensions(tensor.message(_SHAPE))
    if shape is None or min(shape, default=0) < 0:
        raise MalformedMessage(f"A tensor's shape is not fully specified: {_brief(shape)}", at=tensor.start)
    if len(shape) > _MAX_RANK:
        raise MalformedMessage(
            f"A tensor has {len(shape)} dimensions; at most {_MAX_RANK} can be read", at=tensor.start
        )
    if 0 in shape and math.prod(shape[: shape.index(0)]) > _MAX_EMPTY_ROWS:
        raise MalformedMessage(f"A tensor has only empty rows ({_brief(shape)})", at=tensor.start)
    return shape


def _brief(shape: tuple[int, ...] | None) -> str:
    if shape is None:
        return "unknown rank"
    return "x".join(map(str, shape[:8])) + ("x..." if len(shape) > 8 else "")


def _max_allocated(stored: int) -> int:
    return max(MAX_ALLOCATED, _MAX_ALLOCATED_RATIO * stored)


def _count(shape: tuple[int, ...], *, stored: int, limit: int, exact: bool, at: int) -> int:
    """The number of elements in a shape, if the stored ones allow that many."""
    count = math.prod(shape)
    if (stored <= count <= limit and not exact) or stored == count:
        return count
    claim = f"A tensor claims {count if count < 1 << 64 else 'over 2**64'} elements ({_brief(shape)})"
    rest = f"; above {limit} elements all must be stored" if count > limit and not exact else ""
    raise MalformedMessage(f"{claim} but stores {stored}{rest}", at=at)


def _filled(values: NDArray[Any], *, count: int) -> NDArray[Any]:
    """Fill up as TensorFlow does: with the last value, or zero if none is stored."""
    import numpy as np

    if len(values) == count:
        return values
    if len(values) > 1:
        return np.pad(values, (0, count - len(values)), mode="edge")
    one = values if len(values) else np.zeros(1, values.dtype)
    return np.broadcast_to(one, (count,))  # takes no memory until it is copied


def _shaped(values: NDArray[Any], *, shape: tuple[int, ...], at: int) -> NDArray[Any]:
    try:
        array = values.reshape(shape)
    except ValueError as error:  # no elements, but sizes too large for NumPy
        raise MalformedMessage(f"No array can have the shape {_brief(shape)}", at=at) from error
    array.flags.writeable = False
    return array


# ---------- the values


def _from_content(content: bytes, *, dtype: int, at: int) -> NDArray[Any]:
    import numpy as np

    code = np.dtype(STORAGE[dtype].code)
    if len(content) % code.itemsize:
        raise MalformedMessage(f"{len(content)} bytes are not a whole number of {dtype_name(dtype)} values", at=at)
    values: NDArray[Any] = np.frombuffer(content, code)
    if dtype == BOOL:
        return values.astype(np.bool_)
    if dtype == HALF:
        return values.view("<f2")
    return _from_bfloat16(values) if dtype == BFLOAT16 else values


def _from_fields(tensor: Message, *, dtype: int) -> NDArray[Any]:
    import numpy as np

    storage = STORAGE[dtype]
    field = storage.field
    if field in INTEGER_FIELDS and not tensor.has(field):
        # torch's add_tensor stores uint8 in uint32's field. Without this, the values would read as zeros.
        field = next(filter(tensor.has, INTEGER_FIELDS), field)
    packed = tensor.packed(field, wire=storage.wire)
    if storage.wire != VARINT:
        code = np.dtype(storage.code)
        if len(packed) % code.itemsize:
            raise MalformedMessage("A complex number has no imaginary part", at=tensor.start)
        return np.frombuffer(packed, code)
    numbers = _varints(packed, at=tensor.start)
    if dtype == BOOL:
        return numbers.astype(np.bool_)
    if dtype in (HALF, BFLOAT16):
        return _from_half_fields(numbers.astype("<u4"), dtype=dtype)
    return numbers.astype(storage.code)


def _varints(packed: bytes, *, at: int) -> NDArray[np.uint64]:
    """Decode packed varints all at once: one by one takes a second per million."""
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
    """16 bits each; or 32, because torch's add_tensor writes float32 here.

    The two cannot be confused: a float32 made from 16 bits has zeros in its low bits, so every one but zero is above
    65535, and zero is the same in both.
    """
    import numpy as np

    short = numbers.astype("<u2")
    with np.errstate(all="ignore"):  # a NaN may be signaling
        narrow = short.view("<f2") if dtype == HALF else _from_bfloat16(short)
        return np.where(numbers > 0xFFFF, numbers.view("<f4").astype(narrow.dtype), narrow)


def _from_bfloat16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    return (bits.astype("<u4") << 16).view("<f4")


def _strings_from_content(content: bytes, *, tensor: Message) -> list[bytes]:
    """All lengths, then all bytes: how TensorFlow's C++ stores strings as tensor content."""
    lengths, at = [], 0
    # The shape may claim any count. Each length takes at least a byte, so the loop ends with the bytes at the latest.
    for _ in range(min(math.prod(_shape_of(tensor, stored=1)), len(content) + 1)):
        length, at = read_varint(content, start=at, end=len(content))
        lengths.append(length)
    if at + sum(lengths) != len(content):
        raise MalformedMessage(
            f"Strings of {sum(lengths)} bytes in {len(content) - at} bytes of content", at=tensor.start
        )
    items = []
    for length in lengths:
        items.append(content[at : at + length])
        at += length
    return items


# ---------- writing


def tensor_bytes(array: NDArray[Any]) -> bytes:
    """An array of numbers or strings as a TensorProto message."""
    if array.dtype.kind in "OSU":
        return string_tensor_bytes(array.ravel().tolist(), shape=array.shape)
    number = NUMBERS.get(array.dtype.str[1:])
    if number is None:
        raise ValueError(f"An array of {array.dtype} cannot be written; convert it to float32, float64 or int64.")
    content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return _header(number, shape=array.shape) + (bytes_field(_CONTENT, value=content) if content else b"")


def bfloat16_tensor_bytes(bits: NDArray[np.uint16]) -> bytes:
    """The same for bfloat16, which NumPy lacks: takes an array of its bits."""
    return _header(BFLOAT16, shape=bits.shape) + bytes_field(_CONTENT, value=bits.astype("<u2", copy=False).tobytes())


def float_tensor_bytes(array: NDArray[Any]) -> bytes:
    """An array as float32, value by value, as torch writes it. Values that are too large become infinite."""
    import numpy as np

    with np.errstate(over="ignore"):
        values = array.astype("<f4").tobytes()
    return _header(1, shape=array.shape) + bytes_field(STORAGE[1].field, value=values)


def string_tensor_bytes(items: Sequence[str | bytes], *, shape: tuple[int, ...] | None = None) -> bytes:
    """Strings as a TensorProto message; a list unless `shape` is given. A scalar has the shape ()."""
    encoded = (item.encode("utf-8") if isinstance(item, str) else item for item in items)
    strings = b"".join(bytes_field(_STRINGS, value=item) for item in encoded)
    return _header(STRING, shape=(len(items),) if shape is None else shape) + strings


def _header(dtype: int, *, shape: tuple[int, ...]) -> bytes:
    sizes = b"".join(bytes_field(2, value=varint_field(1, value=size)) for size in shape)
    return varint_field(_DTYPE, value=dtype) + bytes_field(_SHAPE, value=sizes)
