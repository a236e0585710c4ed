"""Graphs, Keras models, run metadata and log lines."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DataType
from tensorboard.util import tensor_util

from pulseboard.core.values import Opaque
from pulseboard.tbformat import stored_value
from pulseboard.tbformat.codecs.graph import MAX_NODES, decode_graph

SHAPES = st.none() | st.lists(st.integers(-1, 9), max_size=4).map(tuple)
INTS = st.integers(-(1 << 63), (1 << 63) - 1)
SINGLES = st.floats(width=32, allow_nan=False)
ITEMS = {
    "s": st.binary(max_size=9),
    "i": INTS,
    "f": SINGLES,
    "b": st.booleans(),
    "type": st.sampled_from(sorted(DataType.keys())),
    "shape": SHAPES,
}


def shape_proto(shape: tuple[int, ...] | None) -> TensorShapeProto:
    if shape is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])


def stored(name: str, value: Any) -> Any:
    if name == "shape":
        return shape_proto(value)
    return DataType.Value(value) if name == "type" else value


@st.composite
def attributes(draw: st.DrawFn) -> tuple[AttrValue, Any]:
    name = draw(st.sampled_from(sorted(ITEMS)))
    if draw(st.booleans()):
        value = draw(ITEMS[name])
        return AttrValue(**{name: stored(name, value)}), value
    values = draw(st.lists(ITEMS[name], max_size=5))
    return AttrValue(list=AttrValue.ListValue(**{name: [stored(name, value) for value in values]})), values


@given(
    attrs=st.dictionaries(st.text(max_size=5), attributes(), max_size=5),
    inputs=st.lists(st.text(max_size=5), max_size=3),
    op=st.text(max_size=5),
)
def test_a_node_that_tensorboard_writes_is_read_back(
    decode_event: Callable[..., Any], attrs: dict[str, tuple[AttrValue, Any]], inputs: list[str], op: str
) -> None:
    proto = GraphDef()
    node = proto.node.add(name="n", op=op, input=inputs, device="/cpu:0")
    for key, (value, _) in attrs.items():
        node.attr[key].CopyFrom(value)
    (got,) = decode_event(Event(graph_def=proto.SerializeToString())).nodes
    assert (got.name, got.op, got.inputs, got.device) == ("n", op, tuple(inputs), "/cpu:0")
    assert got.attrs == {key: value for key, (_, value) in attrs.items()}


def test_tensors_functions_and_placeholders_stay_bytes(decode_event: Callable[..., Any]) -> None:
    tensor = tensor_util.make_tensor_proto(np.arange(4))
    proto = GraphDef()
    node = proto.node.add(name="n")
    node.attr["value"].tensor.CopyFrom(tensor)
    node.attr["f"].func.name = "g"
    node.attr["p"].placeholder = "q"
    node.attr["fs"].list.func.add(name="h")
    node.attr["none"].CopyFrom(AttrValue())
    attrs = decode_event(Event(graph_def=proto.SerializeToString())).nodes[0].attrs
    assert attrs["value"] == Opaque("tensor", tensor.SerializeToString())
    assert (attrs["f"].what, attrs["p"]) == ("func", Opaque("placeholder", b"q"))
    assert [item.what for item in attrs["fs"]] == ["func"]
    assert attrs["none"] is None


def test_deeply_nested_functions_do_not_overflow_the_stack(decode_event: Callable[..., Any]) -> None:
    deep = b""
    for _ in range(3000):  # {func {attr {key: "" value {func ...}}}}
        deep = _field(10, _field(2, _field(2, deep)))
    data = _field(1, _field(5, _field(1, b"k") + _field(2, deep)))
    assert decode_event(Event(graph_def=data)).nodes[0].attrs["k"].what == "func"


def _field(number: int, data: bytes) -> bytes:
    size, length = len(data), b""
    while size >= 0x80:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def test_the_library_has_the_functions_that_nodes_call(decode_event: Callable[..., Any]) -> None:
    proto = GraphDef()
    function = proto.library.function.add()
    function.signature.name = "step"
    function.node_def.add(name="a", op="Add")
    (got,) = decode_event(Event(graph_def=proto.SerializeToString())).functions
    assert (got.name, [node.op for node in got.nodes]) == ("step", ["Add"])


def test_a_meta_graph_is_decoded_to_its_graph(decode_event: Callable[..., Any]) -> None:
    proto = MetaGraphDef()
    proto.graph_def.node.add(name="n", op="Add")
    proto.meta_info_def.tags.append("serve")
    (node,) = decode_event(Event(meta_graph_def=proto.SerializeToString())).nodes
    assert (node.name, node.op) == ("n", "Add")


def _summary(plugin: str, item: bytes) -> Summary.Value:
    smd = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=b"1"))
    return Summary.Value(tag="keras", metadata=smd, tensor=tensor_util.make_tensor_proto(item))


def test_a_keras_model_is_decoded_to_its_json(decode: Callable[..., Any]) -> None:
    assert decode(_summary("graph_keras_model", b'{"name": "m"}')).json == '{"name": "m"}'


def test_a_graph_can_be_in_a_summary(decode: Callable[..., Any]) -> None:
    proto = GraphDef()
    proto.node.add(name="n")
    assert [node.name for node in decode(_summary("graphs", proto.SerializeToString())).nodes] == ["n"]


def test_run_metadata_has_its_tag_wherever_it_is_stored(
    decode: Callable[..., Any], decode_event: Callable[..., Any]
) -> None:
    event = Event()
    event.tagged_run_metadata.tag = "step 9"
    event.tagged_run_metadata.run_metadata = b"profile"
    got = decode_event(event)
    assert (got.tag, got.data) == ("step 9", b"profile")
    got = decode(_summary("graph_run_metadata", b"profile"))
    assert (got.tag, got.data) == ("keras", b"profile")


def test_a_log_line_has_its_level(decode_event: Callable[..., Any]) -> None:
    event = Event()
    event.log_message.level = 30
    event.log_message.message = "slow"
    got = decode_event(event)
    assert (got.level, got.message) == ("warning", "slow")


def test_a_graph_of_millions_of_empty_nodes_is_cut() -> None:
    """Four megabytes took a gigabyte and a minute."""
    began = time.process_time()
    metadata = stored_value.SummaryMetadata()
    value = stored_value.StoredValue(b"\n\0" * 2_000_000, 104, metadata, 1, 2.0)
    assert len(decode_graph(value).nodes) == MAX_NODES
    assert time.process_time() - began < 20
