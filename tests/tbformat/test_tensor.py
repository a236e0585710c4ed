"""Tensors, compared with TensorBoard's make_ndarray and with what torch writes."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tensorboard.compat.proto import types_pb2
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.util import tensor_util

from pulseboard.tbformat.dtypes import dtype_name
from pulseboard.tbformat.tensor import MAX_BROADCAST, read_strings, read_tensor, string_tensor_bytes, tensor_bytes
from pulseboard.tbformat.wire import MalformedMessage, Message, varint_field

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)

# The field for values stored one by one, by type.
FIELDS = {
    "DT_FLOAT": ("float_val", np.float32),
    "DT_DOUBLE": ("double_val", np.float64),
    "DT_INT32": ("int_val", np.int32),
    "DT_INT16": ("int_val", np.int16),
    "DT_INT8": ("int_val", np.int8),
    "DT_UINT8": ("int_val", np.uint8),
    "DT_UINT16": ("int_val", np.uint16),
    "DT_INT64": ("int64_val", np.int64),
    "DT_BOOL": ("bool_val", np.bool_),
    "DT_UINT32": ("uint32_val", np.uint32),
    "DT_UINT64": ("uint64_val", np.uint64),
}


def shape_of(*sizes: int) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def read(proto: TensorProto) -> np.ndarray[Any, Any]:
    return read_tensor(Message(proto.SerializeToString()))


def assert_same(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> None:
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert not got.flags.writeable
    # Bit for bit: a NaN's payload and the sign of zero are part of the data.
    assert np.ascontiguousarray(got).tobytes() == np.ascontiguousarray(want).tobytes()


@pytest.mark.parametrize("name", FIELDS)
@given(data=st.data())
def test_values_stored_one_by_one_read_back_as_stored(name: str, data: st.DataObject) -> None:
    field, dtype = FIELDS[name]
    array = data.draw(hnp.arrays(dtype, SHAPES))
    assert_same(
        read(TensorProto(dtype=name, tensor_shape=shape_of(*array.shape), **{field: array.ravel().tolist()})), array
    )


@pytest.mark.parametrize("name", [*FIELDS, "DT_HALF", "DT_COMPLEX64", "DT_COMPLEX128"])
@given(data=st.data())
def test_content_reads_back_as_stored(name: str, data: st.DataObject) -> None:
    others = {"DT_HALF": np.float16, "DT_COMPLEX64": np.complex64, "DT_COMPLEX128": np.complex128}
    array = data.draw(hnp.arrays(FIELDS[name][1] if name in FIELDS else others[name], SHAPES))
    assert_same(
        read(TensorProto(dtype=name, tensor_shape=shape_of(*array.shape), tensor_content=array.tobytes())), array
    )


# Not uint32 and uint64: TensorBoard writes them but cannot read them.
@given(hnp.arrays(st.sampled_from([np.float16, np.float32, np.int8, np.complex64, np.complex128, np.bool_]), SHAPES))
def test_what_tensorboard_writes_reads_as_in_tensorboard(array: np.ndarray[Any, Any]) -> None:
    proto = tensor_util.make_tensor_proto(array)
    assert_same(read(proto), tensor_util.make_ndarray(proto))


@given(st.lists(st.binary(max_size=9), max_size=12))
def test_strings_read_as_bytes_including_zeros(items: list[bytes]) -> None:
    proto = TensorProto(dtype="DT_STRING", tensor_shape=shape_of(len(items)), string_val=items)
    array = read(proto)
    assert array.dtype == np.object_
    assert array.tolist() == items
    assert read_strings(Message(proto.SerializeToString())) == ((len(items),), items)


def test_bfloat16_reads_as_the_equal_float32() -> None:
    exact = np.array([0.0, -0.0, 1.0, -2.5, 3.0e38, np.inf, -np.inf, np.nan, 1e-40], np.float32)
    bits = (exact.view(np.uint32) >> 16).astype(np.uint16)
    want = (bits.astype(np.uint32) << 16).view(np.float32)
    shape = shape_of(len(bits))
    assert_same(read(TensorProto(dtype="DT_BFLOAT16", tensor_shape=shape, tensor_content=bits.tobytes())), want)
    assert_same(read(TensorProto(dtype="DT_BFLOAT16", tensor_shape=shape, half_val=bits.tolist())), want)


@given(st.lists(st.integers(0, 0xFFFF)))
def test_every_half_reads_from_its_bits(bits: list[int]) -> None:
    want = np.array(bits, np.uint16).view(np.float16)
    got = read(TensorProto(dtype="DT_HALF", tensor_shape=shape_of(len(bits)), half_val=bits))
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["DT_HALF", "DT_BFLOAT16"])
def test_halves_that_torch_writes_as_float32_bits_are_read(name: str) -> None:
    import torch
    from torch.utils.tensorboard.summary import tensor_proto

    values = torch.tensor([0.0, -0.0, 1.0, -2.5, 6.1e-5, float("inf"), float("nan"), 6e-8])
    values = values.to(torch.half if name == "DT_HALF" else torch.bfloat16)
    proto = tensor_proto("t", values).value[0].tensor
    assert max(proto.half_val) > 0xFFFF
    np.testing.assert_array_equal(read(TensorProto.FromString(proto.SerializeToString())), values.float().numpy())


def test_unpacked_numbers_are_read_too() -> None:
    data = varint_field(1, value=types_pb2.DT_INT64) + b"".join(varint_field(10, value=v) for v in (5, -6, 1 << 62))
    assert read_tensor(Message(data)).tolist() == [5, -6, 1 << 62]


def test_one_value_fills_the_shape_and_takes_no_memory() -> None:
    got = read(TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(1024, 1024), float_val=[2.5]))
    assert got.shape == (1024, 1024)
    assert got.strides == (0, 0)
    assert (got[0, 0], got[-1, -1]) == (2.5, 2.5)


@pytest.mark.parametrize("stored", [[], [7], [7, 8]])
def test_the_last_value_fills_the_missing_ones(stored: list[int]) -> None:
    got = read(TensorProto(dtype="DT_INT32", tensor_shape=shape_of(2, 2), int_val=stored))
    assert got.ravel().tolist() == (stored + [stored[-1] if stored else 0] * 4)[:4]
    text = TensorProto(dtype="DT_STRING", tensor_shape=shape_of(3), string_val=[str(v).encode() for v in stored])
    assert (
        read(text).tolist()
        == ([str(v).encode() for v in stored] + [str(stored[-1]).encode() if stored else b""] * 3)[:3]
    )


def test_without_a_shape_one_value_is_a_scalar_and_several_are_a_list() -> None:
    assert read(TensorProto(dtype="DT_FLOAT", float_val=[1.5])).shape == ()
    assert read(TensorProto(dtype="DT_FLOAT", float_val=[1.5, 2.5])).tolist() == [1.5, 2.5]


def test_strings_stored_as_content_are_read() -> None:
    content = bytes([2, 0, 3]) + b"ab" + b"cde"
    proto = TensorProto(dtype="DT_STRING", tensor_shape=shape_of(3), tensor_content=content)
    assert read(proto).tolist() == [b"ab", b"", b"cde"]


def test_a_reference_type_reads_as_its_base_type() -> None:
    assert read(TensorProto(dtype="DT_INT32_REF", int_val=[4])).item() == 4


def test_types_have_tensorflows_names() -> None:
    for name, number in types_pb2.DataType.items():
        assert dtype_name(number) == name
    assert dtype_name(99) == "DT_99"


@pytest.mark.parametrize(
    ("proto", "problem"),
    [
        (TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(1 << 60), float_val=[1]), "claims 1152921504606846976"),
        (TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(*[1 << 62] * 9)), r"claims over 2\*\*64 .*x\.\.\.\)"),
        (TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(MAX_BROADCAST + 1), float_val=[1]), "all must be stored"),
        (TensorProto(dtype="DT_INT32", tensor_shape=shape_of(2000), int_val=[1, 2]), "above 1024 elements all must"),
        (TensorProto(dtype="DT_STRING", tensor_shape=shape_of(1 << 40), string_val=[b"a"]), "all must be stored"),
        (TensorProto(dtype="DT_STRING", tensor_shape=shape_of(1 << 40), tensor_content=b"\0" * 9), "cut off"),
        (TensorProto(dtype="DT_STRING", tensor_shape=shape_of(1), tensor_content=b"\x05abc"), "5 bytes in 3"),
        (TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(*[1] * 33), float_val=[1]), "has 33 dimensions"),
        (TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(0, 1 << 62, 1 << 62)), "No array can have the shape"),
        (TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(1 << 40, 0)), "only empty rows"),
        (TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(-1), float_val=[1]), "not fully specified"),
        (TensorProto(dtype="DT_FLOAT", tensor_shape=TensorShapeProto(unknown_rank=True)), "not fully specified"),
        (TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(2), float_val=[1, 2, 3]), "claims 2 .* stores 3 "),
        (TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(2), tensor_content=b"1234"), "claims 2 .* stores 1 "),
        (TensorProto(dtype="DT_FLOAT", tensor_shape=shape_of(2), tensor_content=b"12345"), "5 bytes are not a whole"),
        (TensorProto(dtype="DT_COMPLEX64", scomplex_val=[1, 2, 3]), "no imaginary part"),
        (TensorProto(dtype="DT_VARIANT"), "DT_VARIANT has no numbers"),
        (TensorProto(), "DT_INVALID has no numbers"),
    ],
)  # fmt: skip
def test_an_impossible_tensor_is_rejected_without_taking_memory(proto: TensorProto, problem: str) -> None:
    message = Message(proto.SerializeToString())
    read(TensorProto(dtype="DT_FLOAT", float_val=[1]))  # so that NumPy's lazy imports happen now
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage, match=problem):
            read_tensor(message)
        assert tracemalloc.get_traced_memory()[1] < 1 << 18
    finally:
        tracemalloc.stop()


@given(hnp.arrays(hnp.floating_dtypes(endianness="?") | hnp.integer_dtypes() | hnp.unsigned_integer_dtypes(), SHAPES))
def test_tensorboard_reads_the_arrays_we_write(array: np.ndarray[Any, Any]) -> None:
    data = tensor_bytes(array)
    native = array.astype(array.dtype.newbyteorder("="))
    assert_same(read_tensor(Message(data)), native)
    if array.size:
        assert tensor_util.make_ndarray(TensorProto.FromString(data)).tobytes() == native.tobytes()


@given(hnp.arrays(np.object_, SHAPES, elements=st.binary() | st.text()))
def test_tensorboard_reads_the_strings_we_write(array: np.ndarray[Any, Any]) -> None:
    want = [item if isinstance(item, bytes) else item.encode() for item in array.ravel().tolist()]
    proto = TensorProto.FromString(tensor_bytes(array))
    assert list(proto.string_val) == want
    assert tuple(d.size for d in proto.tensor_shape.dim) == array.shape


def test_a_string_can_be_written_without_an_array() -> None:
    assert read(TensorProto.FromString(string_tensor_bytes(["é"], shape=()))).item() == "é".encode()
    assert read(TensorProto.FromString(string_tensor_bytes(["a", b"b"]))).tolist() == [b"a", b"b"]


def test_an_array_of_an_unsupported_type_is_rejected_with_advice() -> None:
    with pytest.raises(ValueError, match="convert it to float32"):
        tensor_bytes(np.zeros(2, "datetime64[s]"))
