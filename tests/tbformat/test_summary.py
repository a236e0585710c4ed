"""Dispatch by kind; and no bytes raise anything but MalformedMessage."""

import contextlib
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.histogram_pb2 import HistogramProto
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util

from pulseboard.core.values import Raw, Tensor
from pulseboard.tbformat import kinds, summary
from pulseboard.tbformat.stored_value import read_metadata
from pulseboard.tbformat.wire import MalformedMessage

PLUGINS = [
    "scalars",
    "histograms",
    "images",
    "audio",
    "text",
    "hparams",
    "pr_curves",
    "mesh",
    "custom_scalars",
    "graphs",
    "graph_keras_model",
    "graph_run_metadata",
    "flight",
]


def with_plugin(plugin: str, *, content: bytes = b"", **value: Any) -> Summary.Value:
    data = SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    return Summary.Value(tag="t", metadata=SummaryMetadata(plugin_data=data), **value)


def test_the_value_of_an_unknown_plugin_is_passed_through(decode: Callable[..., Any]) -> None:
    for value in (
        with_plugin("flight", content=b"path", tensor=tensor_util.make_tensor_proto([1.0])),
        with_plugin("flight", content=b"path"),
    ):
        got = decode(value)
        assert got == Raw(step=3, wall_time=1.5, plugin="flight", content=b"path", value=value.SerializeToString())


def test_a_value_with_only_metadata_is_passed_through(decode: Callable[..., Any]) -> None:
    assert decode(with_plugin("text", content=b"x")).content == b"x"


def test_a_tensor_without_a_plugin_is_a_tensor(decode: Callable[..., Any]) -> None:
    got = decode(Summary.Value(tag="t", tensor=tensor_util.make_tensor_proto(np.arange(6).reshape(2, 3))))
    assert isinstance(got, Tensor)
    assert got.array.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_list_under_the_scalars_plugin_stays_a_tensor(decode: Callable[..., Any]) -> None:
    assert decode(with_plugin("scalars", tensor=tensor_util.make_tensor_proto([1.0, 2.0]))).array.tolist() == [1, 2]


def test_metadata_has_names_and_a_description() -> None:
    proto = with_plugin("p", content=b"c").metadata
    proto.display_name, proto.summary_description = "shown", "why"
    got = read_metadata(proto.SerializeToString())
    assert (got.plugin, got.content, got.display_name, got.description) == ("p", b"c", "shown", "why")
    assert read_metadata(b"").plugin == ""


def test_importing_the_decoders_loads_neither_numpy_nor_protobuf() -> None:
    code = (
        "import sys, pulseboard.tbformat.summary; print([m for m in ('numpy', 'google.protobuf') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# ---------- hostile bytes


def attempt(kind: str, data: bytes, metadata: bytes, *, field: int) -> None:
    with contextlib.suppress(MalformedMessage):
        summary.decode_value(kind, data, metadata, step=0, wall_time=0.0, field=field)


@pytest.mark.parametrize("field", [0, 3, 4, 5, 6, 8, 104, 106, 108, 109])
@given(data=st.binary(max_size=300), metadata=st.binary(max_size=60), plugin=st.sampled_from(PLUGINS))
def test_random_bytes_are_at_worst_malformed(data: bytes, metadata: bytes, plugin: str, field: int) -> None:
    attempt(kinds.kind_of(field, plugin), data, metadata, field=field)


def valid_values() -> list[tuple[int, Summary.Value | GraphDef]]:
    """One value of each form, for the test below to damage."""
    layout = layout_pb2.Layout()
    layout.category.add(title="c").chart.add(title="x").margin.series.add(value="a", lower="b", upper="c")
    hparams = plugin_data_pb2.HParamsPluginData()
    hparams.session_start_info.hparams["lr"].number_value = 0.5
    hparams.session_start_info.hparams["deep"].list_value.values.add().struct_value.fields["x"].bool_value = True
    experiment = plugin_data_pb2.HParamsPluginData()
    experiment.experiment.hparam_infos.add(name="lr").domain_discrete.values.add(string_value="a")
    graph = GraphDef()
    node = graph.node.add(name="n", op="Add", input=["a", "b"])
    node.attr["T"].type = 1
    node.attr["shapes"].list.shape.add().dim.add(size=3)
    node.attr["f"].list.f.extend([1.0, 2.0])
    graph.library.function.add().node_def.add(name="m")
    tensor = tensor_util.make_tensor_proto
    halves = tensor(np.float16([1, 2, 3]))
    return [
        (5, Summary.Value(tag="t", histo=HistogramProto(min=1, max=2, bucket_limit=[1, 2, 3], bucket=[0, 1, 2]))),
        (4, Summary.Value(tag="t", image=Summary.Image(width=2, height=3, encoded_image_string=b"GIF8"))),
        (6, Summary.Value(tag="t", audio=Summary.Audio(sample_rate=8, encoded_audio_string=b"RIFF", content_type="a"))),
        (8, Summary.Value(tag="t", tensor=halves)),
        (8, Summary.Value(tag="t", tensor=tensor(np.int64([1, -2, 1 << 40])))),
        (8, Summary.Value(tag="t", tensor=tensor(np.bool_([1, 0])))),
        (8, Summary.Value(tag="t", tensor=tensor(np.complex64([1j])))),
        (8, with_plugin("histograms", tensor=tensor(np.ones((2, 3))))),
        (8, with_plugin("images", tensor=tensor([b"1", b"2", b"GIF8"]))),
        (8, with_plugin("audio", content=b"\x10\x0b", tensor=tensor([[b"RIFF", b"label"]]))),
        (8, with_plugin("text", tensor=tensor([[b"a", b"b"]]))),
        (8, with_plugin("pr_curves", tensor=tensor(np.ones((6, 3), np.float32)))),
        (8, with_plugin("mesh", content=b"\x18\x01\x32\x03\x01\x02\x03", tensor=tensor(np.ones((1, 2, 3))))),
        (8, with_plugin("custom_scalars", tensor=tensor(layout.SerializeToString()))),
        (8, with_plugin("graphs", tensor=tensor(graph.SerializeToString()))),
        (8, with_plugin("graph_keras_model", tensor=tensor(b"{}"))),
        (0, with_plugin("hparams", content=hparams.SerializeToString())),
        (0, with_plugin("hparams", content=experiment.SerializeToString())),
        (104, graph),
    ]  # fmt: skip


VALID_VALUES = valid_values()


@pytest.mark.parametrize("index", range(len(VALID_VALUES)))
@given(data=st.data())
def test_damaged_values_are_at_worst_malformed(index: int, data: st.DataObject) -> None:
    field, proto = VALID_VALUES[index]
    damaged = bytearray(proto.SerializeToString())
    plugin = proto.metadata.plugin_data.plugin_name if isinstance(proto, Summary.Value) else None
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(damaged) - 1, 0)))
        cut = data.draw(st.integers(0, 3))
        damaged[at : at + cut] = data.draw(st.binary(max_size=4))
    attempt(kinds.kind_of(field, plugin), bytes(damaged), b"", field=field)


@pytest.mark.parametrize("plugin", [None, *PLUGINS])
@pytest.mark.parametrize("shape", [(1 << 60,), (1 << 24,), (1 << 20, 3), (6, 1 << 20), (1 << 10,), (300, 3), (6, 100)])
def test_a_few_bytes_cannot_allocate_much_memory(plugin: str | None, shape: tuple[int, ...]) -> None:
    for name, values_field, stored in (
        ("DT_FLOAT", "float_val", []),
        ("DT_FLOAT", "float_val", [1.0, 2.0]),
        ("DT_COMPLEX128", "dcomplex_val", [1.0, 2.0]),
        ("DT_BOOL", "bool_val", [True]),
        ("DT_HALF", "half_val", [1, 2]),
        ("DT_STRING", "string_val", [b"1"]),
    ):
        proto = Summary.Value(tag="t", tensor=TensorProto(dtype=name, **{values_field: stored}))
        proto.tensor.tensor_shape.dim.extend(TensorShapeProto.Dim(size=size) for size in shape)
        data = proto.SerializeToString()
        assert len(data) < 50
        tracemalloc.start()
        try:
            attempt(kinds.kind_of(8, plugin), data, b"", field=8)
            assert tracemalloc.get_traced_memory()[1] < 1 << 18
        finally:
            tracemalloc.stop()
