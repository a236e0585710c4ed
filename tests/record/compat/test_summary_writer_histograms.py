"""SummaryWriter against torch's: histograms, curves and tensors; and what histograms are made of."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from both_writers import call_both, events_in, values_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import accumulate
from tensorboard.util import tensor_util
from torch.utils import tensorboard as torch_tensorboard

from pulseboard.record.compat.summary_writer import SummaryWriter
from pulseboard.record.media.histogram import (
    bucket_edges,
    histogram_in_bins,
    histogram_later,
    histogram_of,
    histogram_on_device,
)
from pulseboard.tbformat.tensor import read_tensor
from pulseboard.tbformat.wire import Message

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=1000)


def assert_same_histograms(both):
    """Every field: buckets, counts, least and greatest exactly, and sums but for their rounding."""
    theirs, ours = values_of(both.torch), values_of(both.ours)
    assert [v.tag for v in ours] == [v.tag for v in theirs]
    assert [e.step for e in both.ours["."]] == [e.step for e in both.torch["."]]
    for want, got in zip(theirs, ours, strict=True):
        want, got = want.histo, got.histo
        assert (got.min, got.max, got.num) == (want.min, want.max, want.num)
        assert (list(got.bucket_limit), list(got.bucket)) == (list(want.bucket_limit), list(want.bucket))
        assert got.sum == pytest.approx(want.sum, rel=1e-12, abs=1e-12)
        assert got.sum_squares == pytest.approx(want.sum_squares, rel=1e-12)


VALUES = {
    "float64": NORMAL,
    "float32": NORMAL.astype(np.float32),
    "float16": NORMAL.astype(np.float16),
    "big-endian": NORMAL.astype(">f4"),
    "int64": RNG.integers(-100, 100, 50),
    "large ints": RNG.integers(-(2**60), 2**60, 50),
    "uint8": RNG.integers(0, 255, 50).astype(np.uint8),
    "bool": NORMAL > 0,
    "matrix": NORMAL.reshape(10, 10, 10),
    "strided": NORMAL[::3],
    "transposed": NORMAL.reshape(10, 100).T,
    "zeros": np.zeros(5),
    "one": np.array([0.5]),
    "number": 3.5,
    "tiny": NORMAL * 1e-300,
    "partly out of range": np.array([1e25, 1.0, -1e25]),
    "tensor": torch.tensor(NORMAL),
    "float tensor": torch.tensor(NORMAL).float(),
    "half tensor": torch.tensor(NORMAL).half(),
    "int tensor": torch.arange(50),
    "bool tensor": torch.tensor([True, False]),
    "transposed tensor": torch.tensor(NORMAL).reshape(10, 100).t(),
    "parameter": torch.nn.Parameter(torch.tensor(NORMAL)),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_histogram_is_counted_as_torch_counts_it(tmp_path, values):
    assert_same_histograms(call_both(tmp_path, lambda w: w.add_histogram("h", values, 3)))


@pytest.mark.parametrize(
    "arguments",
    [
        {"bins": "auto"},
        {"bins": "fd", "max_bins": 5},
        {"bins": "doane", "max_bins": 7},
        {"bins": 10},
        {"bins": [-1, 0, 0.5, 2]},
        {"bins": np.linspace(-5, 5, 20)},
        {"bins": "tensorflow", "max_bins": 20},
        {"bins": "tensorflow", "max_bins": 5000},
    ],
    ids=str,
)
@pytest.mark.parametrize("values", [NORMAL, np.arange(1024.0)], ids=["normal", "range"])
def test_bins_may_be_chosen_as_with_torch(tmp_path, values, arguments):
    assert_same_histograms(call_both(tmp_path, lambda w: w.add_histogram("h", values, 3, **arguments)))


def test_a_list_is_an_array(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", [1, 3, torch.tensor(4.0), 5])
    histogram = values_of(events_in(tmp_path))[0].histo
    assert (histogram.num, histogram.min, histogram.max, histogram.sum) == (4, 1, 5, 13)


@pytest.mark.parametrize("bins", ["tensorflow", "auto"])
def test_nan_and_infinities_are_left_out_and_reported(tmp_path, capsys, bins):
    values = np.array([1.0, math.nan, math.inf, 2.0, -math.inf])
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_histogram("layer/weight", values, step, bins=bins)
    histogram = values_of(events_in(tmp_path))[0].histo
    assert (histogram.num, histogram.min, histogram.max, histogram.sum) == (2, 1, 2, 3)
    assert sum(histogram.bucket) == 2
    assert capsys.readouterr().err == (
        "pulseboard: The histogram 'layer/weight' leaves out 1 NaN and 2 infinite values of 5 "
        "(at step 0; later steps are not reported).\n"
    )


@pytest.mark.parametrize("values", [np.full(3, math.nan), np.array([1e30])], ids=str)
def test_a_histogram_without_buckets_does_not_stop_a_sink(tmp_path, values):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", values, 1)
    (event,) = accumulate(tmp_path).Histograms("h")
    assert list(event.histogram_value.bucket) == []
    assert event.histogram_value.num == np.isfinite(values).sum()


@pytest.mark.parametrize("bins", ["tensorflow", "auto"])
def test_an_empty_histogram_is_refused_as_in_torch(tmp_path, bins):
    for writer_class in (torch_tensorboard.SummaryWriter, SummaryWriter):
        with writer_class(str(tmp_path)) as writer, pytest.raises(ValueError, match="no "):
            writer.add_histogram("h", np.zeros(0), bins=bins)


def test_a_counted_histogram_is_stored_as_torch_stores_it(tmp_path):
    counts, limits = np.histogram(NORMAL, bins=20)
    arguments = {
        "min": NORMAL.min(),
        "max": NORMAL.max(),
        "num": len(NORMAL),
        "sum": NORMAL.sum(),
        "sum_squares": NORMAL.dot(NORMAL),
    }
    for i, (lim, cnt) in enumerate([(limits[1:].tolist(), counts.tolist()), (limits[1:], counts)]):
        both = call_both(
            tmp_path / str(i),
            lambda w, lim=lim, cnt=cnt: w.add_histogram_raw(
                "h", **arguments, bucket_limits=lim, bucket_counts=cnt, global_step=2
            ),
        )
        assert both.ours == both.torch
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram_raw("t", 0, 1, 2, 1, 1, torch.tensor([0.5, 1.0]), torch.tensor([1, 1]))
        with pytest.raises(ValueError, match="must have the same length, not 2 and 1"):
            writer.add_histogram_raw("t", 0, 1, 2, 1, 1, [0.5, 1], [1])


# ---------- histograms themselves


def test_the_default_bins_are_available(tmp_path):
    with torch_tensorboard.SummaryWriter(str(tmp_path)) as theirs, SummaryWriter(tmp_path) as ours:
        assert ours.default_bins == theirs.default_bins == list(bucket_edges())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e5m2], ids=str)
def test_floats_that_numpy_does_not_have_are_counted(dtype):
    values = torch.tensor(NORMAL).to(dtype)
    assert histogram_of(values) == histogram_of(values.float())


def test_bfloat16_keeps_its_range():
    assert histogram_of(torch.tensor([1e18], dtype=torch.bfloat16)).max == pytest.approx(1e18, rel=1e-2)


numbers = st.one_of(
    st.floats(width=32),
    st.floats(-1, 1, width=32),
    st.sampled_from(list(bucket_edges())).map(lambda edge: float(np.float32(edge))),
)


@settings(deadline=None)
@given(values=st.lists(numbers, max_size=50))
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_counting_on_a_device_gives_the_same_as_in_memory(dtype, values):
    tensor = torch.tensor(values, dtype=torch.float64).to(dtype)
    assert_same(histogram_on_device(tensor)(), histogram_of(tensor))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.bool], ids=str)
def test_whole_numbers_are_counted_on_a_device(dtype):
    tensor = torch.arange(-60, 60).to(dtype).reshape(10, 12).t()
    assert_same(histogram_on_device(tensor)(), histogram_of(tensor))


def test_every_edge_is_counted_on_a_device_as_in_memory():
    edges = np.array(bucket_edges())
    around = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    for tensor in (torch.tensor(around), torch.tensor(around.astype(np.float32))):
        assert_same(histogram_on_device(tensor)(), histogram_of(tensor))


def test_a_large_tensor_is_counted_in_chunks(monkeypatch):
    monkeypatch.setattr("pulseboard.record.media.device_histogram._CHUNK_NUMBERS", 64)
    tensor = torch.tensor(NORMAL)
    assert_same(histogram_on_device(tensor)(), histogram_of(tensor))


def assert_same(got, want):
    assert (list(got.limits), list(got.counts)) == (list(want.limits), list(want.counts))
    assert (got.num, got.nan, got.inf) == (want.num, want.nan, want.inf)
    np.testing.assert_array_equal([got.min, got.max], [want.min, want.max])
    np.testing.assert_allclose(got.sum_squares, want.sum_squares, rtol=1e-12)
    # What cancels out leaves its rounding behind.
    np.testing.assert_allclose(got.sum, want.sum, rtol=1e-12, atol=1e-14 * math.sqrt(want.num * want.sum_squares))


def test_values_may_change_once_they_are_counted():
    tensor = torch.ones(100)
    later = histogram_later(tensor)
    tensor.zero_()
    assert later().sum == 100


def test_merged_bins_keep_every_value():
    histogram = histogram_in_bins(NORMAL, bins=37, max_bins=10)
    assert sum(histogram.counts) == 1000
    assert histogram.limits[-1] == NORMAL.max()


def test_flushed_denormals_change_nothing():
    """torch.set_flush_denormal makes the CPU take them for zero; the table's comparisons are of whole numbers."""
    script = (
        "import torch\n"
        "torch.set_flush_denormal(True)\n"
        "from pulseboard.record.media.histogram import histogram_of\n"
        "h = histogram_of(torch.tensor([-0.0, 0.0, 1.0, -1.0]))\n"
        "print(h.counts[1], h.counts[-1], [c for c in h.counts if c > 1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, timeout=300, capture_output=True, text=True)
    assert done.stdout == "1 1 [2]\n"


# ---------- curves


def test_curves_are_stored_as_torch_stores_them(tmp_path):
    labels, predictions = RNG.integers(0, 2, 100), RNG.random(100)

    def calls(writer):
        writer.add_pr_curve("array", labels, predictions, 1)
        writer.add_pr_curve("tensor", torch.tensor(labels), torch.tensor(predictions).float(), 1, num_thresholds=11)
        writer.add_pr_curve("bool", labels > 0, predictions, 1, num_thresholds=500)
        writer.add_pr_curve("weighted", labels, predictions, 1, 50, weights=predictions)

    both = call_both(tmp_path, calls)
    assert both.ours == both.torch


def test_computed_curves_are_stored_as_torch_stores_them(tmp_path):
    rows = [
        [75, 64, 21, 5, 0],
        [150, 105, 18, 0, 0],
        [0, 45, 132, 150, 150],
        [0, 11, 54, 70, 75],
        [0.3333333, 0.3786982, 0.5384616, 1.0, 0.0],
        [1.0, 0.8533334, 0.28, 0.0666667, 0.0],
    ]

    def calls(writer):
        writer.add_pr_curve_raw("lists", *rows, 1)
        writer.add_pr_curve_raw("arrays", *map(np.array, rows), 1, num_thresholds=5)

    both = call_both(tmp_path, calls)
    assert both.ours == both.torch


# ---------- tensors


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor([1.5, 2.5]),
        torch.tensor(0.1),
        torch.zeros(0),
        torch.arange(6).reshape(2, 3),
        torch.arange(6, dtype=torch.int32),
        torch.tensor([1, 2], dtype=torch.int16),
        torch.tensor([1, -2], dtype=torch.int8),
        torch.tensor([1.5], dtype=torch.float64),
        torch.tensor([True, False]),
        torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])),
        torch.ones(3, 4)[:, ::2],
        torch.ones(2, requires_grad=True),
    ],
    ids=lambda t: f"{t.dtype} {tuple(t.shape)}",
)
def test_a_tensor_is_read_back_as_one_written_by_torch(tmp_path, tensor):
    both = call_both(tmp_path, lambda w: w.add_tensor("t", tensor, 4))
    (theirs,), (ours,) = values_of(both.torch), values_of(both.ours)
    assert (ours.tag, ours.metadata) == (theirs.tag, theirs.metadata)
    want, got = tensor_util.make_ndarray(theirs.tensor), tensor_util.make_ndarray(ours.tensor)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [torch.float16, torch.uint8], ids=str)
def test_tensorboard_reads_our_tensors_even_where_it_cannot_read_torchs(tmp_path, dtype):
    tensor = torch.tensor([[1.0, 2.0], [3.5, 100.0]]).to(dtype)
    with SummaryWriter(tmp_path) as writer:
        writer.add_tensor("t", tensor)
    stored = values_of(events_in(tmp_path))[0].tensor
    np.testing.assert_array_equal(tensor_util.make_ndarray(stored), tensor.numpy())


def test_bfloat16_is_stored_as_its_bits(tmp_path):
    tensor = torch.tensor([[1.0, 2.0], [3.5, 1e30]]).bfloat16().t()
    with SummaryWriter(tmp_path) as writer:
        writer.add_tensor("t", tensor)
    message = Message(values_of(events_in(tmp_path))[0].tensor.SerializeToString())
    np.testing.assert_array_equal(read_tensor(message), tensor.float().numpy())


def test_an_array_may_be_logged_as_a_tensor(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_tensor("t", NORMAL)
    np.testing.assert_array_equal(tensor_util.make_ndarray(values_of(events_in(tmp_path))[0].tensor), NORMAL)
