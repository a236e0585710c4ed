"""Scalars in every form a writer may choose are decoded to the right number."""

import math
import struct

import numpy as np
import pytest
from builders import event_file, record, scalar, summary, tensor, version
from hypothesis import example, given
from hypothesis import strategies as st
from tensorboard.compat.proto import types_pb2 as types
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.util import tensor_util

from pulseboard.kernel.reader import EventLog


def read(*values: Summary.Value, versioned: bool = True) -> tuple[list[float], int]:
    """(the numbers of the first tag, how many of its values are not numbers)."""
    start = [version()] if versioned else []
    return read_bytes(event_file(*start, *(summary(value, step=i) for i, value in enumerate(values))))


def read_bytes(file: bytes) -> tuple[list[float], int]:
    log = EventLog()
    assert log.feed(file) == len(file)
    assert log.notes()[0] == 0
    return np.frombuffer(log.point_columns(0)[2]).tolist(), log.tags()[0][3]


def bits(value: float) -> bytes:
    """So that NaN equals NaN and 0.0 differs from -0.0."""
    return struct.pack("<d", math.nan if math.isnan(value) else value)


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


# ---------- simple_value


def simple_event(raw: bytes) -> bytes:
    """An Event whose simple_value is these four bytes; protobuf's Python classes would pass them through a double."""
    value = b"\x0a\x01x\x15" + raw
    body = b"\x0a" + varint(len(value)) + value
    return b"\x09" + bytes(8) + b"\x2a" + varint(len(body)) + body


@pytest.mark.parametrize("start", [b"", event_file(version())], ids=["unversioned", "versioned"])
@given(raw=st.integers(0, 2**32 - 1))
@example(raw=0x00000001)  # the smallest denormal
@example(raw=0x807FFFFF)  # the largest negative denormal in magnitude
@example(raw=0x80000000)  # -0.0
@example(raw=0x7F800000)
@example(raw=0xFF800000)
@example(raw=0x7FC00000)
@example(raw=0xFF800001)  # a signaling NaN
@example(raw=0x7F7FFFFF)
def test_a_simple_value_keeps_every_bit_of_its_float32(start, raw):
    packed = struct.pack("<I", raw)
    [value], spans = read_bytes(start + record(simple_event(packed)))
    expected = np.frombuffer(packed, "<f4")[0]
    assert bits(value) == bits(float(expected))
    assert spans == 0
    assert math.isnan(value) or struct.pack("<f", value) == packed


# ---------- tensors

# dtype: (field, its number, NumPy type of the stored bits, numbers)
KINDS = {
    types.DT_FLOAT: ("float_val", 5, np.float32, [0.1, -0.0, 1e-45, 3.4e38, math.inf, -math.inf, math.nan, 0.0]),
    types.DT_DOUBLE: ("double_val", 6, np.float64, [0.1, -0.0, 5e-324, 1.7e308, math.inf, math.nan, math.pi]),
    types.DT_HALF: ("half_val", 13, np.float16, [0.1, -0.0, 6e-8, -6.1e-5, 65504.0, math.inf, -math.inf, math.nan]),
    types.DT_BFLOAT16: ("half_val", 13, None, [1.0, -0.0, -2.5, 2.0**-133, 2.0**127, math.inf, math.nan]),
    types.DT_INT8: ("int_val", 7, np.int8, [0, 1, -1, -128, 127]),
    types.DT_INT16: ("int_val", 7, np.int16, [0, 1, -1, -(2**15), 2**15 - 1]),
    types.DT_INT32: ("int_val", 7, np.int32, [0, 1, -1, -(2**31), 2**31 - 1]),
    types.DT_INT64: ("int64_val", 10, np.int64, [0, 1, -1, -(2**63), 2**63 - 1, 2**53 + 1]),
    types.DT_UINT8: ("int_val", 7, np.uint8, [0, 1, 255]),
    types.DT_UINT16: ("int_val", 7, np.uint16, [0, 1, 2**16 - 1]),
    types.DT_UINT32: ("uint32_val", 16, np.uint32, [0, 1, 2**32 - 1]),
    types.DT_UINT64: ("uint64_val", 17, np.uint64, [0, 1, 2**64 - 1, 2**63]),
    types.DT_BOOL: ("bool_val", 11, np.bool_, [True, False]),
}
CASES = [pytest.param(d, v, id=f"{types.DataType.Name(d)}={v}") for d, (_, _, _, vs) in KINDS.items() for v in vs]


def content(dtype: int, number: float) -> bytes:
    """The number as tensor_content."""
    kind = KINDS[dtype][2]
    # bfloat16 is the upper half of a float32.
    return np.float32(number).tobytes()[2:] if kind is None else kind(number).tobytes()


def expected(dtype: int, number: float) -> float:
    kind = KINDS[dtype][2]
    return float(number if kind is None else kind(number))


def with_content(dtype: int, number: float) -> TensorProto:
    return TensorProto(dtype=dtype, tensor_shape=TensorShapeProto(), tensor_content=content(dtype, number))


def with_typed_field(dtype: int, number: float) -> TensorProto:
    """Packed, as protobuf writes repeated numbers."""
    proto = TensorProto(dtype=dtype, tensor_shape=TensorShapeProto())
    item = struct.unpack("<H", content(dtype, number))[0] if KINDS[dtype][0] == "half_val" else number
    getattr(proto, KINDS[dtype][0]).append(item)
    return proto


def with_unpacked_field(dtype: int, number: float) -> bytes:
    """The same in the older form, with one key per number, as bytes."""
    field = KINDS[dtype][1]
    raw = content(dtype, number)
    if field == 5:
        item = varint(field << 3 | 5) + raw
    elif field == 6:
        item = varint(field << 3 | 1) + raw
    else:
        whole = struct.unpack("<H", raw)[0] if field == 13 else int(number)
        item = varint(field << 3) + varint(whole)
    # Protobuf parses both forms, which shows that this one is valid.
    body = TensorProto(dtype=dtype, tensor_shape=TensorShapeProto()).SerializeToString() + item
    assert len(getattr(TensorProto.FromString(body), KINDS[dtype][0])) == 1
    return body


@pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "unversioned"])
@pytest.mark.parametrize(("dtype", "number"), CASES)
def test_a_tensor_of_one_number_is_that_number(dtype, number, versioned):
    for proto in (with_content(dtype, number), with_typed_field(dtype, number)):
        # Twice: once the tag is known to be a scalar, the second may take the fast path.
        found, spans = read(tensor("x", proto), tensor("x", proto), versioned=versioned)
        assert list(map(bits, found)) == [bits(expected(dtype, number))] * 2
        assert spans == 0


@pytest.mark.parametrize(("dtype", "number"), CASES)
def test_an_unpacked_number_is_read_as_a_packed_one(dtype, number):
    body = with_unpacked_field(dtype, number)
    metadata = tensor("x", TensorProto()).metadata.SerializeToString()
    value = b"\x0a\x01x\x42" + varint(len(body)) + body + b"\x4a" + varint(len(metadata)) + metadata
    data = b"\x0a" + varint(len(value)) + value
    [found], spans = read_bytes(event_file(version()) + record(b"\x2a" + varint(len(data)) + data))
    assert bits(found) == bits(expected(dtype, number))
    assert spans == 0


# TensorBoard's own reader supports neither bfloat16 nor these typed fields.
UNKNOWN_TO_TENSORBOARD = {types.DT_BFLOAT16, types.DT_UINT32, types.DT_UINT64}


@pytest.mark.parametrize(("dtype", "number"), [c for c in CASES if c.values[0] not in UNKNOWN_TO_TENSORBOARD])
def test_the_number_is_the_one_tensorboard_reads(dtype, number):
    for proto in (with_content(dtype, number), with_typed_field(dtype, number)):
        assert bits(read(tensor("x", proto))[0][0]) == bits(float(tensor_util.make_ndarray(proto).item()))


@pytest.mark.parametrize("dims", [[], [1], [1, 1]])
def test_a_shape_of_one_element_is_a_number(dims):
    proto = tensor_util.make_tensor_proto(np.full(dims, 2.5, np.float32))
    assert read(tensor("x", proto)) == ([2.5], 0)


@pytest.mark.parametrize(
    "proto",
    [
        tensor_util.make_tensor_proto(np.array([1.0, 2.0], np.float32)),
        tensor_util.make_tensor_proto(np.zeros((0,), np.float32)),
        tensor_util.make_tensor_proto(b"words"),
        TensorProto(dtype=types.DT_FLOAT),
        TensorProto(dtype=types.DT_FLOAT, float_val=[1.0, 2.0]),
        TensorProto(dtype=types.DT_FLOAT, double_val=[1.0]),
        TensorProto(dtype=types.DT_FLOAT, tensor_content=b"\0" * 3),
        TensorProto(dtype=types.DT_DOUBLE, tensor_content=b"\0" * 16),
        TensorProto(dtype=types.DT_COMPLEX64, scomplex_val=[1.0, 0.0]),
        TensorProto(dtype=types.DT_FLOAT, float_val=[1.0], tensor_shape=TensorShapeProto(unknown_rank=True)),
        # Protobuf's shorthand for two equal numbers.
        TensorProto(
            dtype=types.DT_FLOAT, float_val=[1.0], tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=2)])
        ),
    ],
    ids=[
        "two",
        "none",
        "words",
        "empty",
        "two-unshaped",
        "other-field",
        "short",
        "long",
        "complex",
        "unknown-rank",
        "two-alike",
    ],
)
def test_a_tensor_that_is_not_one_number_becomes_a_span(proto):
    assert read(tensor("x", proto)) == ([], 1)


def test_a_tensor_of_another_plugin_or_of_none_becomes_a_span():
    proto = with_typed_field(types.DT_FLOAT, 1.0)
    assert read(tensor("x", proto, plugin="text")) == ([], 1)
    assert read(tensor("x", proto, plugin=None)) == ([], 1)


def test_a_tag_needs_its_scalars_metadata_only_once():
    proto = with_typed_field(types.DT_FLOAT, 1.0)
    assert read(tensor("x", proto), tensor("x", proto, plugin=None)) == ([1.0, 1.0], 0)


def test_both_forms_of_a_scalar_can_share_a_tag():
    assert read(scalar("x", 0.5), tensor("x", with_typed_field(types.DT_DOUBLE, 0.25))) == ([0.5, 0.25], 0)


@given(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
@example(2**56 - 1, 0.0)
@example(2**56, 0.0)
@example(-1, 0.0)
def test_steps_and_wall_times_are_kept_exactly(step, wall_time):
    log = EventLog()
    log.feed(event_file(version(), summary(scalar("x", 1), step=step, wall_time=wall_time)))
    steps, walls, _, _ = log.point_columns(0)
    assert (np.frombuffer(steps, np.int64)[0], np.frombuffer(walls)[0]) == (step, wall_time)


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
def test_stats_are_computed_from_the_numbers(values):
    log = EventLog()
    log.feed(event_file(version(), *(summary(scalar("x", v), step=i, wall_time=i) for i, v in enumerate(values))))
    n, nan, inf, low, high, last, first_wall, last_wall, *steps = log.stats(0)
    finite = [v for v in values if math.isfinite(v)]
    assert (n, nan, inf) == (len(values), sum(map(math.isnan, values)), sum(map(math.isinf, values)))
    assert (low, high) == (min(finite), max(finite)) if finite else math.isnan(low) and math.isnan(high)
    assert bits(last) == bits(values[-1])
    assert (first_wall, last_wall, *steps) == (0, n - 1, 0, n - 1, 0, n - 1)
