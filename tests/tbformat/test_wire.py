"""The wire format, against protobuf's own encoding of TensorBoard's messages."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.histogram_pb2 import HistogramProto
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from pulseboard.tbformat import wire
from pulseboard.tbformat.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    MAX_FIELDS,
    VARINT,
    MalformedMessage,
    Message,
    bytes_field,
    double_field,
    float_field,
    packed_doubles_field,
    read_varint,
    text_field,
    varint,
    varint_field,
)

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(INT64)
def test_a_number_reads_back_as_written(value: int) -> None:
    encoded = varint(value)
    assert read_varint(encoded, start=0, end=len(encoded)) == (value % (1 << 64), len(encoded))
    assert Message(varint_field(5, value=value)).integer(5) == value


@given(st.lists(INT64), st.lists(st.floats(width=32)), st.text(), st.binary())
def test_fields_that_protobuf_writes_are_read_back(
    ints: list[int], floats: list[float], text: str, blob: bytes
) -> None:
    tensor = TensorProto(int64_val=ints, float_val=floats, string_val=[text.encode(), blob], version_number=-7)
    message = Message(tensor.SerializeToString())
    assert message.integers(10) == ints
    assert message.blobs(8) == [text.encode(), blob]
    assert message.integer(3) == -7
    assert Message(Summary.Value(tag=text).SerializeToString()).text(1) == text
    assert len(message.packed(5, wire=FIXED32)) == 4 * len(floats)


@given(st.floats(), st.floats(width=32), st.text(), st.binary(), st.lists(st.floats(allow_nan=False)))
def test_protobuf_reads_what_we_write(
    double: float, single: float, text: str, blob: bytes, doubles: list[float]
) -> None:
    histogram = HistogramProto.FromString(double_field(1, value=double) + packed_doubles_field(6, values=doubles))
    assert histogram.min == double or math.isnan(double)
    assert list(histogram.bucket_limit) == doubles
    value = Summary.Value.FromString(text_field(1, value=text) + float_field(2, value=single))
    assert value.tag == text
    assert value.simple_value == single or math.isnan(single)
    assert Summary.Image.FromString(bytes_field(4, value=blob)).encoded_image_string == blob


def test_numbers_can_be_packed_or_unpacked_or_both() -> None:
    loose = varint_field(10, value=1) + varint_field(10, value=300)
    packed = bytes_field(10, value=varint(-2) + varint(4))
    assert Message(loose + packed).integers(10) == [1, 300, -2, 4]


def test_the_last_occurrence_of_a_field_counts() -> None:
    assert Message(varint_field(1, value=4) + varint_field(1, value=9)).integer(1) == 9


def test_the_last_field_of_a_oneof_counts() -> None:
    wires = {2: VARINT, 3: BYTES}
    assert Message(varint_field(2, value=1) + bytes_field(3, value=b"")).which(wires) == 3
    assert Message(bytes_field(3, value=b"") + varint_field(2, value=1)).which(wires) == 2
    assert Message(varint_field(3, value=1)).which(wires) == 0
    assert Message(b"").which(wires) == 0


def test_a_field_with_an_unexpected_wire_type_counts_as_absent() -> None:
    message = Message(varint_field(1, value=4) + float_field(2, value=1.0))
    assert (message.text(1), message.double(2), message.integer(2)) == ("", 0.0, 0)


def test_invalid_utf8_is_replaced() -> None:
    assert Message(bytes_field(1, value=b"a\xffb")).text(1) == "a\ufffdb"


def test_groups_are_skipped_at_any_depth() -> None:
    deep = sys.getrecursionlimit() * 10
    group = varint(9 << 3 | 3) * deep + varint_field(1, value=3) + varint(9 << 3 | 4) * deep
    message = Message(varint_field(1, value=7) + group + varint_field(2, value=8))
    assert (message.integer(1), message.integer(2)) == (7, 8)


@pytest.mark.parametrize(
    ("data", "problem", "at"),
    [
        (varint_field(1, value=1) + b"\x12\x7fabc", "Field 2 claims 127 bytes, but 3 are left", 2),
        (b"\x08\x96", "Field 1 claims 2 bytes, but 1 are left", 0),
        (b"\x80", "A number is cut off", 0),
        (b"\x08" + b"\xff" * 12, "Field 1 is a number longer than 10 bytes", 0),
        (b"\xff" * 12, "A number is longer than 10 bytes", 0),
        (b"\x12" + b"\xff" * 12, "A number is longer than 10 bytes", 1),
        (b"\x00\x00", "0 is not a field number", 0),
        (b"\x0f", "Field 1 has the invalid wire type 7", 0),
        (b"\x0c", "Field 1 has the invalid wire type 4", 0),
        (b"\x0b\x08\x01", "A group is not closed", 3),
        (b"\x0d\x00", "Field 1 claims 4 bytes, but 1 are left", 0),
    ],
)
def test_an_error_names_the_problem_and_the_byte(data: bytes, problem: str, at: int) -> None:
    with pytest.raises(MalformedMessage) as caught:
        Message(data)
    assert (caught.value.problem, caught.value.at) == (problem, at)
    assert str(caught.value) == f"{problem} (byte {at} of the message)"


def test_the_byte_is_counted_from_the_start_of_the_outermost_message() -> None:
    outer = Message(varint_field(1, value=1) + bytes_field(2, value=b"\x0a\x09ab"))
    with pytest.raises(MalformedMessage) as caught:
        outer.message(2)
    assert caught.value.at == 4


@pytest.mark.parametrize(("content", "wire"), [(b"123", FIXED32), (b"1234567", FIXED64), (b"\x01\x80", VARINT)])
def test_packed_numbers_that_are_cut_off_are_malformed(content: bytes, wire: int) -> None:
    with pytest.raises(MalformedMessage, match="Field 5 ends in the middle of a number"):
        Message(bytes_field(5, value=content)).packed(5, wire=wire)


@pytest.fixture(params=[1 << 12, pytest.param(MAX_FIELDS, marks=pytest.mark.long)])
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The most fields of a message: few, and as many as there really may be, which take a second to parse."""
    monkeypatch.setattr(wire, "MAX_FIELDS", request.param)
    return int(request.param)


@pytest.mark.parametrize("depth", [0, 1])
def test_too_many_fields_are_rejected_before_they_take_memory(depth: int, limit: int) -> None:
    many = b"\x0a\x00" * (limit + 1)
    with pytest.raises(MalformedMessage, match=f"more than {limit} fields"):
        Message(bytes_field(1, value=many) if depth else many).message(1)


def test_the_field_limit_covers_all_nested_messages(limit: int) -> None:
    outer = Message(bytes_field(1, value=b"\x0a\x00" * (limit // 2)))
    outer.message(1)
    with pytest.raises(MalformedMessage, match=f"more than {limit} fields"):
        outer.message(1)


def test_the_numbers_of_a_list_count_as_fields(limit: int) -> None:
    with pytest.raises(MalformedMessage, match="fields"):
        Message(bytes_field(1, value=b"\x01" * (limit + 1))).integers(1)
    with pytest.raises(MalformedMessage, match="fields"):
        Message(bytes_field(1, value=b"\x01" * 4 * (limit + 1))).singles(1)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_malformed_and_what_protobuf_accepts_is_accepted(data: bytes) -> None:
    try:
        HistogramProto.FromString(data)
        accepted = True
    except Exception:
        accepted = False
    try:
        message = Message(data)
    except MalformedMessage:
        assert not accepted
    else:
        message.double(1), message.text(1), message.integer(1), message.which({1: VARINT, 2: BYTES})
