"""Histograms, compared with TensorBoard's own conversion."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard import data_compat
from tensorboard.compat.proto.histogram_pb2 import HistogramProto
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.histogram import metadata
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.util import tensor_util

from pulseboard.tbformat.wire import MalformedMessage

MAX_DOUBLE = np.finfo(np.float64).max
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


@st.composite
def old_histograms(draw: st.DrawFn) -> HistogramProto:
    limits = sorted(draw(st.lists(FINITE, unique=True, max_size=20)))
    counts = draw(st.lists(st.integers(0, 3), min_size=len(limits), max_size=len(limits)))
    return HistogramProto(
        min=draw(FINITE),
        max=draw(FINITE),
        num=sum(counts),
        sum=draw(st.floats(allow_nan=False)),
        sum_squares=draw(st.floats(allow_nan=False)),
        bucket_limit=limits,
        bucket=counts,
    )


@given(histogram=old_histograms())
def test_the_old_form_shows_the_buckets_tensorboard_shows(
    decode: Callable[..., Any], histogram: HistogramProto
) -> None:
    value = Summary.Value(tag="h", histo=histogram)
    got = decode(value)
    want = tensor_util.make_ndarray(data_compat.migrate_value(value).tensor).reshape(-1, 3)
    np.testing.assert_array_equal(np.float32([got.lefts, got.rights, got.counts]), want.T)


@given(histogram=old_histograms())
def test_the_old_form_keeps_the_values_in_the_file(decode: Callable[..., Any], histogram: HistogramProto) -> None:
    got = decode(Summary.Value(tag="h", histo=histogram))
    assert (got.step, got.wall_time) == (3, 1.5)
    assert (got.min, got.max, got.num) == (histogram.min, histogram.max, histogram.num)
    assert (got.sum, got.sum_squares) == (histogram.sum, histogram.sum_squares)
    assert got.bucket_limits.tolist() == list(histogram.bucket_limit)
    assert got.bucket_counts.tolist() == list(histogram.bucket)


def test_edges_keep_full_precision_and_never_the_largest_double(decode: Callable[..., Any]) -> None:
    third = 1 / 3
    histogram = HistogramProto(
        min=-third, max=2 * third, bucket_limit=[-1, 0, third, MAX_DOUBLE, MAX_DOUBLE], bucket=[0, 1, 0, 2, 0]
    )
    got = decode(Summary.Value(tag="h", histo=histogram))
    assert got.lefts.tolist() == [-third, 0, third]
    assert got.rights.tolist() == [0, third, 2 * third]
    assert got.counts.tolist() == [1, 0, 2]


def test_an_empty_histogram_has_no_buckets(decode: Callable[..., Any]) -> None:
    for histogram in (HistogramProto(), HistogramProto(bucket_limit=[1, 2], bucket=[0, 0])):
        got = decode(Summary.Value(tag="h", histo=histogram))
        assert len(got.lefts) == len(got.rights) == len(got.counts) == 0


@pytest.mark.parametrize("data", [np.linspace(-1, 1, 100), np.array([5.0, 5.0]), np.array([])])
def test_the_tensor_form_reads_back_as_written(decode: Callable[..., Any], data: np.ndarray[Any, Any]) -> None:
    value = histogram_pb("h", data, buckets=7).value[0]
    got = decode(value)
    want = tensor_util.make_ndarray(value.tensor).reshape(-1, 3)
    np.testing.assert_array_equal([got.lefts, got.rights, got.counts], want.T)
    assert got.counts.dtype == np.float64
    assert got.min is got.num is got.bucket_limits is None


def test_later_values_use_the_metadata_of_the_first(decode: Callable[..., Any]) -> None:
    value = histogram_pb("h", np.arange(4.0)).value[0]
    tag_metadata = value.metadata.SerializeToString()
    value.ClearField("metadata")
    assert decode(value, tag_metadata=tag_metadata, plugin="histograms").counts.sum() == 4


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.zeros((2, 4)), r"k x 3 numbers for a histogram, not float32 \(2, 4\)"),
        (np.zeros(3), "k x 3"),
        (np.array([[b"a", b"b", b"c"]]), "k x 3"),
    ],
)
def test_a_tensor_of_the_wrong_shape_is_malformed(decode: Callable[..., Any], array: Any, problem: str) -> None:
    smd = metadata.create_summary_metadata(None, None)
    tensor = tensor_util.make_tensor_proto(array.tolist())
    with pytest.raises(MalformedMessage, match=problem):
        decode(Summary.Value(tag="h", metadata=smd, tensor=tensor))


def test_fewer_limits_than_buckets_are_malformed(decode: Callable[..., Any]) -> None:
    with pytest.raises(MalformedMessage, match="1 bucket limits for 4 buckets"):
        decode(Summary.Value(tag="h", histo=HistogramProto(bucket_limit=[1], bucket=[1, 1, 1, 1])))
