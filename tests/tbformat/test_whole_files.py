"""Every value of whole files, against TensorBoard's own classes: a file made here, and real logs."""

import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import event_file, summary, version
from corpus import need_corpus
from tensorboard import data_compat
from tensorboard.compat.proto.event_pb2 import Event, TaggedRunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.histogram_pb2 import HistogramProto
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.util import tensor_util

from pulseboard.core.values import Raw

VALUE_FIELDS = {"image": 4, "histo": 5, "audio": 6, "tensor": 8, None: 0}
EVENT_FIELDS = {"graph_def": 104, "log_message": 106, "tagged_run_metadata": 108, "meta_graph_def": 109}


def events_of(path: Path) -> Iterator[Event]:
    """The complete records of a file, without checking checksums."""
    data = path.read_bytes()
    at = 0
    while at + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        if at + 16 + length > len(data):
            return
        yield Event.FromString(data[at + 12 : at + 12 + length])
        at += 16 + length


def fields_of(path: Path) -> Counter[int]:
    """How many values are stored in each field, not counting scalars."""
    found: Counter[int] = Counter()
    scalars = set()
    for event in events_of(path):
        if event.WhichOneof("what") in EVENT_FIELDS:
            found[EVENT_FIELDS[event.WhichOneof("what")]] += 1
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name == "scalars":
                scalars.add(value.tag)
            if value.WhichOneof("value") != "simple_value" and value.tag not in scalars:
                found[VALUE_FIELDS[value.WhichOneof("value")]] += 1
    return found


def check_files(paths: list[Path], found: Callable[..., Any]) -> set[str]:
    """Check every value of the files. Returns the kinds that occur."""
    kinds = set()
    for path in paths:
        items = list(found(path))
        assert Counter(item.field for item in items) == fields_of(path), path
        for item in items:
            kinds.add(item.kind)
            CHECKS[item.kind](item)
    return kinds


def test_a_file_with_every_kind_of_value_is_decoded_completely(tmp_path: Path, found: Callable[..., Any]) -> None:
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(event_file(version(), *one_event_of_each_kind()))
    assert check_files([path], found) == set(CHECKS)


def test_every_value_of_every_real_file_is_found_and_decoded(found: Callable[..., Any]) -> None:
    # If the corpus lost a kind, this test would cover less than it claims.
    assert check_files(sorted(need_corpus().rglob("*tfevents*")), found) == set(CHECKS)


def one_event_of_each_kind() -> list[Event]:
    graph = GraphDef()
    graph.node.add(name="sum", op="Add", input=["a", "b"]).attr["T"].type = 1
    graph.library.function.add().node_def.add(name="inner", op="Mul")
    layout = Layout()
    layout.category.add(title="Losses").chart.add(title="both").multiline.tag.extend(["train/loss", "val/loss"])
    start = HParamsPluginData()
    start.session_start_info.hparams["lr"].number_value = 0.1
    start.session_start_info.hparams["optimizer"].string_value = "adam"
    experiment = HParamsPluginData()
    experiment.experiment.hparam_infos.add(name="lr")
    experiment.experiment.metric_infos.add().name.tag = "val/loss"
    tensor = tensor_util.make_tensor_proto
    curve = np.ones((6, 5), np.float32)
    curve[:2, 3:] = 0
    histogram = HistogramProto(
        min=-1, max=2, num=3, sum=2, sum_squares=5, bucket_limit=[-1, 0, 1e308], bucket=[0, 1, 2]
    )
    png = b"\x89PNG\r\n\x1a\n..."
    values = [
        Summary.Value(tag="weights", histo=histogram),
        Summary.Value(tag="picture", image=Summary.Image(width=4, height=3, encoded_image_string=png)),
        plugin_value("images", tensor=tensor([b"4", b"3", png, b"GIF89a"])),
        plugin_value("text", tensor=tensor([[b"a", b"b"]])),
        plugin_value("hparams", content=start.SerializeToString()),
        plugin_value("hparams", content=experiment.SerializeToString()),
        plugin_value("graph_keras_model", tensor=tensor(b'{"name": "m"}')),
        plugin_value("pr_curves", tensor=tensor(curve)),
        plugin_value("custom_scalars", tensor=tensor(layout.SerializeToString())),
        plugin_value("flight", content=b"path", tensor=tensor([1.0])),
    ]
    events = [summary(value, step=step) for step, value in enumerate(values)]
    meta_graph = MetaGraphDef(graph_def=graph)
    events.append(Event(wall_time=2.0, graph_def=graph.SerializeToString()))
    events.append(Event(wall_time=2.0, meta_graph_def=meta_graph.SerializeToString()))
    events.append(Event(wall_time=2.0, tagged_run_metadata=TaggedRunMetadata(tag="step 1", run_metadata=b"profile")))
    return events


def plugin_value(plugin: str, *, content: bytes = b"", **value: Any) -> Summary.Value:
    data = SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    return Summary.Value(tag=f"{plugin}/{len(content)}", metadata=SummaryMetadata(plugin_data=data), **value)


# ---------- the value of each kind, against TensorBoard's classes


def tensor_in(item: Any) -> np.ndarray[Any, Any]:
    return tensor_util.make_ndarray(Summary.Value.FromString(item.data).tensor)


def check_histogram(item: Any) -> None:
    proto = Summary.Value.FromString(item.data)
    want = tensor_util.make_ndarray(data_compat.migrate_value(proto).tensor).reshape(-1, 3)
    got = item.value
    np.testing.assert_array_equal(np.float32([got.lefts, got.rights, got.counts]), want.T)
    assert got.num == proto.histo.num
    assert got.counts.sum() == pytest.approx(proto.histo.num)


def check_image(item: Any) -> None:
    proto = Summary.Value.FromString(item.data)
    if item.field == 4:
        assert item.value.frames == (proto.image.encoded_image_string,)
        assert (item.value.width, item.value.height) == (proto.image.width, proto.image.height)
    else:
        assert item.value.frames == tuple(proto.tensor.string_val[2:])
    assert item.value.media_type in ("image/png", "image/gif", "image/jpeg")


def check_text(item: Any) -> None:
    array = tensor_in(item)
    assert item.value.shape == array.shape
    assert [text.encode() for text in item.value.items] == array.ravel().tolist()


def check_hparams(item: Any) -> None:
    content = Summary.Value.FromString(item.data).metadata.plugin_data.content
    proto = HParamsPluginData.FromString(content)
    session = proto.session_start_info
    kinds = {key: value.WhichOneof("kind") for key, value in session.hparams.items()}
    want = {key: getattr(session.hparams[key], kind) for key, kind in kinds.items()}
    assert item.value.values == want
    assert [info.name for info in item.value.hparam_infos] == [info.name for info in proto.experiment.hparam_infos]
    assert [info.tag for info in item.value.metric_infos] == [info.name.tag for info in proto.experiment.metric_infos]
    assert len(item.value.records) == 1


def check_graph(item: Any) -> None:
    proto = MetaGraphDef.FromString(item.data).graph_def if item.field == 109 else GraphDef.FromString(item.data)
    assert [(n.name, n.op, n.inputs) for n in item.value.nodes] == [(n.name, n.op, tuple(n.input)) for n in proto.node]
    assert [set(n.attrs) for n in item.value.nodes] == [set(n.attr) for n in proto.node]
    assert [len(f.nodes) for f in item.value.functions] == [len(f.node_def) for f in proto.library.function]


def check_keras_graph(item: Any) -> None:
    assert item.value.json.encode() == tensor_in(item).item()


def check_run_metadata(item: Any) -> None:
    proto = TaggedRunMetadata.FromString(item.data)
    assert (item.value.tag, item.value.data) == (proto.tag, proto.run_metadata)


def check_pr_curve(item: Any) -> None:
    rows = tensor_in(item)
    end = len(item.value.thresholds)
    assert 0 < end <= rows.shape[1]
    np.testing.assert_array_equal(item.value.recall, rows[5, :end])
    assert not rows[:2, end:].any()


def check_custom_scalars(item: Any) -> None:
    proto = Layout.FromString(tensor_in(item).item())
    assert [c.title for c in item.value.categories] == [c.title for c in proto.category]
    charts = [chart.title for category in item.value.categories for chart in category.charts]
    assert charts == [chart.title for category in proto.category for chart in category.chart]


def check_raw(item: Any) -> None:
    proto = Summary.Value.FromString(item.data)
    assert isinstance(item.value, Raw)
    assert (item.value.content, item.value.value) == (proto.metadata.plugin_data.content, item.data)


CHECKS: dict[str, Callable[[Any], None]] = {
    "histogram": check_histogram,
    "image": check_image,
    "text": check_text,
    "hparams": check_hparams,
    "graph": check_graph,
    "keras_graph": check_keras_graph,
    "run_metadata": check_run_metadata,
    "pr_curve": check_pr_curve,
    "custom_scalars": check_custom_scalars,
    "flight": check_raw,
}
