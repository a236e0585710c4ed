"""The encoders write the same as torch's summaries, and the decoders read it back."""

import math
from array import array

import numpy as np
import pytest
import torch
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig
from torch.utils.tensorboard import summary as torch_summary

from pulseboard.core.values import Chart, ChartCategory, MarginSeries
from pulseboard.tbformat import event
from pulseboard.tbformat.codecs.audio import encode_audio
from pulseboard.tbformat.codecs.custom_scalars import encode_layout
from pulseboard.tbformat.codecs.histogram import Buckets, encode_histogram
from pulseboard.tbformat.codecs.hparams import (
    encode_experiment,
    encode_hparams,
    encode_session_end,
    encode_session_start,
    hparams_from,
)
from pulseboard.tbformat.codecs.image import encode_image
from pulseboard.tbformat.codecs.mesh import encode_mesh
from pulseboard.tbformat.codecs.pr_curve import encode_pr_curve
from pulseboard.tbformat.codecs.scalar import encode_scalar_value
from pulseboard.tbformat.codecs.text import encode_text
from pulseboard.tbformat.projector import Embedding, projector_config
from pulseboard.tbformat.summary import encode_tensor
from pulseboard.tbformat.tensor import bfloat16_tensor_bytes, float_tensor_bytes, read_tensor, tensor_bytes
from pulseboard.tbformat.wire import Message

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def parsed(*values: bytes) -> Summary:
    return Summary(value=[Summary.Value.FromString(value) for value in values])


# ---------- scalars


@settings(deadline=None)
@given(tag=text, value=st.floats())
@pytest.mark.parametrize(
    ("form", "style"),
    [
        ("simple", {}),
        ("float_tensor", {"new_style": True}),
        ("double_tensor", {"new_style": True, "double_precision": True}),
    ],
)
def test_scalars(form, style, tag, value):
    # Compared as text, in which NaN equals NaN.
    assert str(parsed(encode_scalar_value(tag, value=value, form=form))) == str(
        torch_summary.scalar(tag, value, **style)
    )


# ---------- histograms


def test_histograms(decode):
    buckets = Buckets(min=-1.0, max=2.5, num=3, sum=2.0, sum_squares=7.25, limits=[-1.0, 0.0, 3.0], counts=[0, 1, 2])
    got = parsed(encode_histogram("h/w", histogram=buckets))
    assert got == torch_summary.histogram_raw("h/w", -1.0, 2.5, 3, 2.0, 7.25, [-1.0, 0.0, 3.0], [0, 1, 2])
    value = decode(got.value[0])
    assert (value.lefts.tolist(), value.rights.tolist(), value.counts.tolist()) == ([-1, 0], [0, 2.5], [1, 2])


def test_limits_can_be_any_sequence():
    made = [
        encode_histogram(
            "h", histogram=Buckets(min=0, max=1, num=1, sum=1, sum_squares=1, limits=limits, counts=(0, 1))
        )
        for limits in ([0.0, 1.0], (0, 1), array("d", [0, 1]), np.array([0.0, 1.0]))
    ]
    assert len(set(made)) == 1


def test_an_empty_histogram_reads_back_empty(decode):
    none = Buckets(min=math.nan, max=math.nan, num=0, sum=0, sum_squares=0, limits=(), counts=(), nan=3)
    value = decode(parsed(encode_histogram("h", histogram=none)).value[0])
    assert (value.num, value.counts.tolist()) == (0, [])


# ---------- images, sound, text


def test_images(decode):
    got = parsed(encode_image("i", width=5, height=4, channels=3, data=b"\x89PNG\r\n\x1a\n..."))
    image = Summary.Image(height=4, width=5, colorspace=3, encoded_image_string=b"\x89PNG\r\n\x1a\n...")
    assert got == Summary(value=[Summary.Value(tag="i", image=image)])
    value = decode(got.value[0])
    assert (value.width, value.height, value.media_type) == (5, 4, "image/png")


def test_sound(decode):
    want = torch_summary.audio("s", np.zeros(100), sample_rate=8000)
    data = want.value[0].audio.encoded_audio_string
    got = parsed(encode_audio("s", data=data, sample_rate=8000, frames=100))
    assert got == want
    (clip,) = decode(got.value[0]).clips
    assert (clip.sample_rate, clip.media_type) == (8000, "audio/wav")


@settings(deadline=None)
@given(tag=text, words=text)
def test_text(decode, tag, words):
    got = parsed(encode_text(tag + "/text_summary", text=words))
    assert got == torch_summary.text(tag, words)
    assert decode(got.value[0]).text == words


# ---------- curves, meshes, layouts, tensors


def test_curves(decode):
    rows = np.random.default_rng(0).random((6, 20))
    got = parsed(encode_pr_curve("c", rows=rows, num_thresholds=20))
    assert got == torch_summary.pr_curve_raw("c", *rows, num_thresholds=20)


@pytest.mark.parametrize("faces", [None, torch.tensor([[[0, 1, 2]]])])
@pytest.mark.parametrize("colors", [None, torch.tensor([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]])])
def test_meshes(decode, faces, colors):
    vertices = torch.eye(3)[None]
    arrays = {"faces": faces, "colors": colors}
    arrays = {name: None if tensor is None else tensor.numpy() for name, tensor in arrays.items()}
    got = parsed(*encode_mesh("m", vertices=vertices.numpy(), **arrays, config='{"a": 1}'))
    assert got == torch_summary.mesh("m", vertices, colors, faces, {"a": 1})
    value = decode(got.value[0])
    assert (value.name, value.component, value.shape, value.config) == ("m", "vertex", (1, 3, 3), '{"a": 1}')


def test_layouts(decode):
    layout = {
        "Taiwan": {"twse": ["Multiline", ["twse/0050", "twse/2330"]], "empty": ["Multiline", []]},
        "USA": {"dow": ["Margin", ["dow/aaa", "dow/bbb", "dow/ccc"]]},
    }
    categories = (
        ChartCategory(
            title="Taiwan",
            closed=False,
            charts=(Chart(title="twse", tags=("twse/0050", "twse/2330")), Chart(title="empty")),
        ),
        ChartCategory(
            title="USA",
            closed=False,
            charts=(Chart(title="dow", series=(MarginSeries("dow/aaa", "dow/bbb", "dow/ccc"),)),),
        ),
    )
    got = parsed(encode_layout(categories))
    assert got == torch_summary.custom_scalars(layout)
    assert decode(got.value[0]).categories == categories


def test_a_closed_category_stays_closed(decode):
    closed = (ChartCategory(title="c", closed=True, charts=()),)
    assert decode(parsed(encode_layout(closed)).value[0]).categories == closed


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i8", "b1", "c8", "c16"])
def test_tensors(decode, dtype):
    values = np.array([[0, 1, 100], [0, 7, 12]]).astype(dtype)
    got = parsed(encode_tensor("t", tensor=tensor_bytes(values)))
    assert got.value[0].metadata == torch_summary.tensor_proto("t", torch.zeros(1)).value[0].metadata
    read = read_tensor(Message(got.value[0].tensor.SerializeToString()))
    assert read.dtype == values.dtype
    np.testing.assert_array_equal(read, values)


def test_bfloat16_tensors():
    tensor = torch.tensor([[1.0, -2.5], [1e30, 0.0]]).bfloat16()
    data = bfloat16_tensor_bytes(tensor.view(torch.int16).numpy().view("u2"))
    np.testing.assert_array_equal(read_tensor(Message(data)), tensor.float().numpy())


def test_values_too_large_for_a_float_tensor_become_infinite():
    proto = TensorProto.FromString(float_tensor_bytes(np.array([[1.0, 1e300]])))
    assert (list(proto.float_val), [d.size for d in proto.tensor_shape.dim]) == ([1.0, math.inf], [1, 2])


# ---------- hyperparameters

HPARAMS = {"lr": 0.1, "layers": 3, "optimizer": "adam", "none": None}


def contents(values):
    """The plugin's messages, parsed because the order of a map's entries varies."""
    read = [Summary.Value.FromString(value) if isinstance(value, bytes) else value.value[0] for value in values]
    return [
        (value.tag, plugin_data_pb2.HParamsPluginData.FromString(value.metadata.plugin_data.content)) for value in read
    ]


def test_hyperparameters():
    domains = {"layers": [1, 2, 3], "optimizer": ["adam", "sgd"]}
    got = encode_hparams(HPARAMS, metrics=["accuracy", "loss"], domains=domains)
    want = torch_summary.hparams(HPARAMS, {"accuracy": 0.5, "loss": 1.0}, domains)
    assert contents(got) == contents(want)
    assert [parsed(value).value[0].WhichOneof("value") for value in got] == [None] * 3


def test_a_bool_is_a_bool(decode):
    """torch treats it as a number, so its writer passes us one."""
    experiment, start, _ = contents(encode_hparams({"amp": True}, metrics=[], domains={"amp": [True, False]}))
    (info,) = experiment[1].experiment.hparam_infos
    assert (info.type, [v.bool_value for v in info.domain_discrete.values]) == (2, [True, False])
    assert start[1].session_start_info.hparams["amp"].bool_value is True


def test_a_session_has_its_times_and_its_status(decode):
    records = [
        encode_experiment(HPARAMS, metrics=["loss"]),
        encode_session_start(HPARAMS, group_name="sweep", start_time=10.0),
        encode_session_end("failure", end_time=20.0),
    ]
    got = hparams_from(decode(parsed(record).value[0]) for record in records)
    assert got.values == {"lr": 0.1, "layers": 3.0, "optimizer": "adam"}
    assert (got.group_name, got.start_time, got.status, got.end_time) == ("sweep", 10.0, "failure", 20.0)
    assert [info.tag for info in got.metric_infos] == ["loss"]


# ---------- events and the projector's configuration


def test_events():
    value = encode_scalar_value("a", value=1.0)
    summary = torch_summary.scalar("a", 1.0)
    assert Event.FromString(event.summary_event(value, step=3, wall_time=2.0)) == Event(
        wall_time=2.0, step=3, summary=summary
    )
    encoded = event.encoded_summary_event(summary.SerializeToString(), step=-3, wall_time=2.0)
    assert Event.FromString(encoded) == Event(wall_time=2.0, step=-3, summary=summary)
    assert Event.FromString(event.graph_event(b"graph", wall_time=2.0)) == Event(wall_time=2.0, graph_def=b"graph")
    tagged = TaggedRunMetadata(tag="step1", run_metadata=b"data")
    metadata = Event.FromString(event.run_metadata_event("step1", data=b"data", wall_time=2.0))
    assert metadata == Event(wall_time=2.0, tagged_run_metadata=tagged)
    start = Event.FromString(event.session_start_event(step=4, wall_time=2.0))
    assert start == Event(wall_time=2.0, step=4, session_log=SessionLog(status=SessionLog.START))


@settings(deadline=None)
@given(names=st.lists(text, max_size=3), path=text)
def test_the_projectors_configuration(names, path):
    embeddings = [
        Embedding(name=name, points_path=path, labels_path=path, sprite_path=path, sprite_size=(5, 7)) for name in names
    ]
    embeddings.append(Embedding(name="bare", points_path="p"))
    want = ProjectorConfig()
    for name in names:
        info = EmbeddingInfo(tensor_name=name, tensor_path=path, metadata_path=path)
        info.sprite.image_path = path
        info.sprite.single_image_dim.extend([5, 7])
        want.embeddings.append(info)
    want.embeddings.append(EmbeddingInfo(tensor_name="bare", tensor_path="p"))
    assert text_format.Parse(projector_config(embeddings), ProjectorConfig()) == want
