"""Protobuf's wire format: reading and writing a message's fields, without a schema and without a library.

key      varint of field number * 8 + wire type
varint   7 bits per byte, lowest first; the top bit means that more bytes follow
fixed    4 or 8 bytes, little-endian
bytes    varint of the length, then that many bytes: text, a message, or packed numbers
"""

from __future__ import annotations

import itertools
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)

_MAX_FIELD = (1 << 29) - 1
_U64 = (1 << 64) - 1
_ABSENT = (-1, -1)

# A field of two bytes becomes objects of a few hundred. With this limit on the messages and fields in one message and
# everything nested in it, the worst case found (4 MB of empty graph nodes) takes 15 s and 800 MB. A real graph node
# has about 33 fields, so a graph of 120,000 nodes is still read; the largest real one we have has 562.
MAX_FIELDS = 1 << 22


class MalformedMessage(ValueError):
    """The bytes are not the expected message. Skip this value; the others in the file are not affected."""

    def __init__(self, problem: str, *, at: int) -> None:
        self.problem = problem
        self.at = at  # byte of the message that was being read
        super().__init__(f"{problem} (byte {at} of the message)")


# ---------- reading


def read_varint(data: bytes, *, start: int, end: int) -> tuple[int, int]:
    """(number, index after it) of the varint at `start`."""
    value = shift = 0
    for at in range(start, min(end, start + 10)):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _U64, at + 1
        shift += 7
    why = "is cut off" if end - start < 10 else "is longer than 10 bytes"
    raise MalformedMessage(f"A number {why}", at=start)


def read_fields(data: bytes, *, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(number, wire type, start, end) of each field's content; groups are skipped."""
    at = start
    open_groups = 0  # counting instead of recursion: the file controls the nesting depth
    while at < end:
        begin = at
        key, at = (data[at], at + 1) if data[at] < 0x80 else read_varint(data, start=at, end=end)
        number, wire = key >> 3, key & 7
        if not 0 < number <= _MAX_FIELD:
            raise MalformedMessage(f"{number} is not a field number", at=begin)
        first = at
        if wire == BYTES:
            length, first = (data[at], at + 1) if at < end and data[at] < 0x80 else read_varint(data, start=at, end=end)
            at = first + length
        elif wire == VARINT:
            while at < end and data[at] >= 0x80:
                at += 1
            at += 1
            if at - first > 10:
                raise MalformedMessage(f"Field {number} is a number longer than 10 bytes", at=begin)
        elif wire == FIXED32:
            at += 4
        elif wire == FIXED64:
            at += 8
        elif wire == GROUP:
            open_groups += 1
            continue
        elif wire == GROUP_END and open_groups:
            open_groups -= 1
            continue
        else:
            raise MalformedMessage(f"Field {number} has the invalid wire type {wire}", at=begin)
        if at > end:
            raise MalformedMessage(f"Field {number} claims {at - first} bytes, but {end - first} are left", at=begin)
        if not open_groups:
            yield number, wire, first, at
    if open_groups:
        raise MalformedMessage("A group is not closed", at=end)


class Message:
    """A message's fields by number, each decoded as the type the caller expects.

    Protobuf's rules apply: an absent field is zero or empty, of several the last counts, and a field with an unexpected
    wire type counts as absent. Nested messages are decoded on request.
    """

    __slots__ = ("_data", "_fields", "_left", "start")

    def __init__(self, data: bytes, *, start: int = 0, end: int | None = None, within: Message | None = None) -> None:
        self.start = start
        self._data = data
        self._left: list[int] = within._left if within else [MAX_FIELDS]  # shared with all nested messages
        self._fields: dict[int, list[tuple[int, int, int]]] = {}
        fields = read_fields(data, start=start, end=len(data) if end is None else end)
        for number, wire, first, last in itertools.islice(fields, self._left[0] + 1):
            self._fields.setdefault(number, []).append((wire, first, last))
        self._spend(1 + sum(map(len, self._fields.values())))

    def _spend(self, fields: int) -> None:
        self._left[0] -= fields
        if self._left[0] < 0:
            raise MalformedMessage(f"The message has more than {MAX_FIELDS} fields", at=self.start)

    def has(self, number: int) -> bool:
        """Whether the field is present, with any wire type."""
        return number in self._fields

    def which(self, wires: Mapping[int, int]) -> int:
        """Which field of a oneof, given as {number: wire type}, is set; 0 if none."""
        found, at = 0, -1
        for number in self._fields:
            first, _ = self._last(number, wire=wires.get(number, -1))
            if first > at:
                found, at = number, first
        return found

    def unsigned(self, number: int) -> int:
        """A uint64 or uint32."""
        first, last = self._last(number, wire=VARINT)
        return read_varint(self._data, start=first, end=last)[0] if first >= 0 else 0

    def integer(self, number: int) -> int:
        """An int64, an int32 or an enum."""
        return signed(self.unsigned(number))

    def boolean(self, number: int) -> bool:
        """A bool."""
        return self.unsigned(number) != 0

    def double(self, number: int) -> float:
        """A double."""
        first, _ = self._last(number, wire=FIXED64)
        return float(struct.unpack_from("<d", self._data, first)[0]) if first >= 0 else 0.0

    def single(self, number: int) -> float:
        """A float."""
        first, _ = self._last(number, wire=FIXED32)
        return float(struct.unpack_from("<f", self._data, first)[0]) if first >= 0 else 0.0

    def blob(self, number: int) -> bytes:
        """Raw bytes."""
        first, last = self._last(number, wire=BYTES)
        return self._data[first:last] if first >= 0 else b""

    def blobs(self, number: int) -> list[bytes]:
        """Every occurrence of repeated bytes."""
        return [self._data[first:last] for first, last in self._spans(number, wire=BYTES)]

    def text(self, number: int) -> str:
        """A string; invalid UTF-8 is replaced."""
        return self.blob(number).decode("utf-8", "replace")

    def texts(self, number: int) -> tuple[str, ...]:
        """Every occurrence of a repeated string."""
        return tuple(blob.decode("utf-8", "replace") for blob in self.blobs(number))

    def message(self, number: int) -> Message:
        """A message; an empty one if it is absent."""
        first, last = self._last(number, wire=BYTES)
        return Message(self._data, start=first, end=last, within=self) if first >= 0 else Message(b"")

    def messages(self, number: int) -> Iterator[Message]:
        """Every occurrence of a repeated message, one at a time."""
        for first, last in self._spans(number, wire=BYTES):
            yield Message(self._data, start=first, end=last, within=self)

    def packed(self, number: int, *, wire: int) -> bytes:
        """All numbers of a repeated field, encoded and concatenated, whether the file packs them or not."""
        size = {FIXED32: 4, FIXED64: 8, VARINT: 1}[wire]
        pieces = []
        for found, first, last in self._fields.get(number, ()):
            if found not in (wire, BYTES):
                continue
            if (last - first) % size or (wire == VARINT and last > first and self._data[last - 1] >= 0x80):
                raise MalformedMessage(f"Field {number} ends in the middle of a number", at=last)
            pieces.append(self._data[first:last])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def integers(self, number: int) -> list[int]:
        """Every number of a repeated int64, int32, enum or bool."""
        data = self.packed(number, wire=VARINT)
        self._spend(len(data))
        out, at = [], 0
        while at < len(data):
            value, at = read_varint(data, start=at, end=len(data))
            out.append(signed(value))
        return out

    def singles(self, number: int) -> list[float]:
        """Every number of a repeated float."""
        data = self.packed(number, wire=FIXED32)
        self._spend(len(data) // 4)
        return [value for (value,) in struct.iter_unpack("<f", data)]

    def _spans(self, number: int, *, wire: int) -> list[tuple[int, int]]:
        return [(first, last) for found, first, last in self._fields.get(number, ()) if found == wire]

    def _last(self, number: int, *, wire: int) -> tuple[int, int]:
        for found, first, last in reversed(self._fields.get(number, ())):
            if found == wire:
                return first, last
        return _ABSENT


def signed(value: int) -> int:
    """An int64 from the uint64 of the same bits."""
    return value - (1 << 64) if value >> 63 else value


# ---------- writing: each function returns one field; fields joined together are a message


def varint(value: int) -> bytes:
    """A number of up to 64 bits. Negative numbers take 10 bytes, as in protobuf's int32 and int64."""
    value &= _U64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint_field(number: int, *, value: int) -> bytes:
    """An int64, int32, uint64, uint32, enum or bool."""
    return varint(number << 3 | VARINT) + varint(value)


def double_field(number: int, *, value: float) -> bytes:
    """A double."""
    return varint(number << 3 | FIXED64) + struct.pack("<d", value)


def float_field(number: int, *, value: float) -> bytes:
    """A float. A value that is too large becomes infinite, as in protobuf."""
    return varint(number << 3 | FIXED32) + array("f", (value,)).tobytes()


def bytes_field(number: int, *, value: bytes) -> bytes:
    """Bytes, a message, or packed numbers."""
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def text_field(number: int, *, value: str) -> bytes:
    """A string."""
    return bytes_field(number, value=value.encode("utf-8"))


def packed_doubles_field(number: int, *, values: Iterable[float]) -> bytes:
    """A repeated double."""
    return bytes_field(number, value=array("d", values).tobytes())


def packed_floats_field(number: int, *, values: Iterable[float]) -> bytes:
    """A repeated float."""
    return bytes_field(number, value=array("f", values).tobytes())


def packed_varints_field(number: int, *, values: Iterable[int]) -> bytes:
    """A repeated int64, int32, uint64, uint32, enum or bool."""
    return bytes_field(number, value=b"".join(map(varint, values)))
