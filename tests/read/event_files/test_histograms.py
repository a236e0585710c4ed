"""Histograms that the kernel decodes are the same as those that tbformat decodes, for any bytes."""

import numpy as np
import pytest
from builders import event_file, summary, version
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.util import tensor_util

import pulseboard as pb
from pulseboard.read.event_files import histograms

FIELDS = "step wall_time lefts rights counts min max num sum sum_squares bucket_limits bucket_counts".split()

floats = st.floats(width=64)
counts = st.lists(st.one_of(st.just(0.0), st.integers(0, 5).map(float), floats), max_size=6)


@st.composite
def old(draw) -> Summary.Value:
    """A histogram of the old form. The numbers of limits and of counts may differ."""
    numbers = [draw(floats) for _ in range(5)]
    histo = HistogramProto(bucket_limit=draw(st.lists(floats, max_size=7)), bucket=draw(counts))
    histo.min, histo.max, histo.num, histo.sum, histo.sum_squares = numbers
    return Summary.Value(tag="h", histo=histo)


@st.composite
def tensor_form(draw) -> Summary.Value:
    """A histogram as a tensor: packed numbers or bytes, and shapes that fit or do not."""
    rows = draw(st.integers(0, 4))
    dtype = draw(st.sampled_from([np.float32, np.float64, np.int32]))
    array = np.array(draw(st.lists(st.integers(-9, 9), min_size=3 * rows, max_size=3 * rows))).astype(dtype)
    proto = tensor_util.make_tensor_proto(array.reshape(rows, 3))
    if draw(st.booleans()):
        proto.tensor_shape.CopyFrom(TensorShapeProto(dim=[TensorShapeProto.Dim(size=draw(st.integers(0, 5)))]))
    if proto.tensor_content and draw(st.booleans()) and dtype is not np.int32:
        field = proto.float_val if dtype is np.float32 else proto.double_val
        field.extend(array.tolist())
        if draw(st.booleans()):
            proto.tensor_content = b""
    if draw(st.booleans()):
        proto = TensorProto.FromString(proto.SerializeToString() + proto.SerializeToString())
    value = Summary.Value(tag="h", tensor=proto)
    value.metadata.plugin_data.plugin_name = "histograms"
    return value


def read(path) -> tuple[list, list[str]]:
    """The fields of each histogram with NaN equal to NaN, and the notes."""
    run = pb.read(path)["."]
    found = run.histograms("h") if "h" in run.tags("histogram") else []
    return [[np.asarray(getattr(h, name), object).tolist() for name in FIELDS] for h in found], run.notes()


def same_either_way(path, monkeypatch) -> list:
    """What the kernel decodes, after a check that tbformat decodes the same."""
    fast = read(path)
    with monkeypatch.context() as patch:
        patch.setattr(histograms, "decoded", lambda part, spans, wanted, metadata: [None] * len(wanted))
        assert repr(fast) == repr(read(path))
    return fast[0]


@pytest.mark.parametrize("form", [old(), tensor_form()], ids=["old", "tensor"])
def test_histograms_are_decoded_as_by_tbformat(tmp_path_factory, form):
    path = tmp_path_factory.mktemp("runs") / "events.out.tfevents.1"

    @given(st.lists(form, max_size=4), st.data())
    def check(values, data):
        raw = event_file(version(), *(summary(value, step=step) for step, value in enumerate(values)))
        path.write_bytes(raw)
        with pytest.MonkeyPatch.context() as patch:
            same_either_way(path.parent, patch)

    check()


def test_the_kernel_decodes_what_writers_produce(tmp_path, monkeypatch):
    histo = HistogramProto(
        min=-1, max=3, num=6, sum=1, sum_squares=9, bucket_limit=[0, 1, 2, 1e308], bucket=[0, 2, 4, 0]
    )
    tensor = tensor_util.make_tensor_proto(np.array([[0, 1, 2], [1, 2, 3]], np.float64))
    written = event_file(
        version(),
        summary(Summary.Value(tag="h", histo=histo)),
        summary(Summary.Value(tag="h", histo=HistogramProto())),
        summary(Summary.Value(tag="t", tensor=tensor, metadata={"plugin_data": {"plugin_name": "histograms"}})),
        summary(Summary.Value(tag="t", tensor=tensor), step=1),
    )
    (tmp_path / "events.out.tfevents.1").write_bytes(written)
    run = pb.read(tmp_path)["."]
    left = []
    monkeypatch.setattr(
        run, "_decode_missing", lambda found, *_: left.extend(i for i, one in enumerate(found) if not one)
    )
    first, empty = run.histograms("h")
    assert (first.lefts.tolist(), first.rights.tolist(), first.counts.tolist()) == ([-1, 1], [1, 3], [2, 4])
    assert first.bucket_limits.tolist() == [0, 1, 2, 1e308]
    assert first.bucket_counts.tolist() == [0, 2, 4, 0]
    assert [len(array) for array in (empty.lefts, empty.rights, empty.counts, empty.bucket_limits)] == [0, 0, 0, 0]
    assert not left
    (second,) = run.histograms("t")
    assert left == [0], "the first value has metadata of its own, which tbformat checks"
    assert (second.lefts.tolist(), second.rights.tolist(), second.counts.tolist()) == ([0, 1], [1, 2], [2, 3])
    assert (second.step, second.min, second.bucket_limits, second.bucket_counts) == (1, None, None, None)


def test_histograms_that_have_the_same_limits_or_a_part_of_them_share_memory(tmp_path, monkeypatch):
    limits = [[1, 2, 3, 4], [1, 2, 3, 4], [2, 3], [0, 1, 2, 3], [1, 2, 3], [2, 3, 5], []]
    histograms_ = [
        HistogramProto(min=0.5, max=9 + i, num=1, bucket_limit=one, bucket=[1] * len(one))
        for i, one in enumerate(limits)
    ]
    (tmp_path / "events.out.tfevents.1").write_bytes(
        event_file(
            version(), *(summary(Summary.Value(tag="h", histo=one), step=i) for i, one in enumerate(histograms_))
        )
    )
    same_either_way(tmp_path, monkeypatch)
    found = pb.read(tmp_path)["."].histograms("h")
    assert [one.bucket_limits.tolist() for one in found] == limits
    assert found[1].lefts.tolist() == [0.5, 1, 2, 3]
    assert found[1].rights.tolist() == [1, 2, 3, 10]
    addresses = [one.bucket_limits.__array_interface__["data"][0] for one in found]
    assert addresses[1] == addresses[0]
    assert addresses[2] == addresses[0] + 8
    assert addresses[4] == addresses[3] + 8
    assert len({addresses[0], addresses[3], addresses[5]}) == 3


def test_arrays_of_a_histogram_are_read_only(tmp_path):
    histo = HistogramProto(min=0, max=1, bucket_limit=[1], bucket=[2])
    (tmp_path / "events.out.tfevents.1").write_bytes(
        event_file(version(), summary(Summary.Value(tag="h", histo=histo)))
    )
    (one,) = pb.read(tmp_path)["."].histograms("h")
    for name in ("lefts", "rights", "counts", "bucket_limits", "bucket_counts"):
        assert not getattr(one, name).flags.writeable, name
