"""The kernel's histogram, compared with NumPy's on the edges that torch's SummaryWriter uses."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from torch.utils.tensorboard import SummaryWriter

from pulseboard.kernel.histogram import bucket_edges, count_values

EDGES = np.frombuffer(bucket_edges(), np.float64)


def counted(numbers):
    """(counts of all buckets, the rest by name)."""
    num, nan, inf, low, high, total, squares, first, counts = count_values(numbers)
    buckets = np.zeros(len(EDGES) - 1, np.int64)
    trimmed = np.frombuffer(counts, np.uint64)
    assert not len(trimmed) or (trimmed[0] and trimmed[-1])
    buckets[first : first + len(trimmed)] = trimmed
    return buckets, {"num": num, "nan": nan, "inf": inf, "min": low, "max": high, "sum": total, "squares": squares}


def assert_as_numpy(numbers):
    buckets, rest = counted(numbers)
    finite = numbers[np.isfinite(numbers)].astype(np.float64)
    np.testing.assert_array_equal(buckets, np.histogram(finite, bins=EDGES)[0])
    assert rest["num"] == len(finite)
    assert (rest["nan"], rest["inf"]) == (np.isnan(numbers).sum(), np.isinf(numbers).sum())
    if not len(finite):
        assert math.isnan(rest["min"])
        assert math.isnan(rest["max"])
        assert (rest["sum"], rest["squares"]) == (0, 0)
        return
    assert (rest["min"], rest["max"]) == (finite.min(), finite.max())
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(rest["sum"], finite.sum(), rtol=1e-12, atol=1e-14 * np.abs(finite).sum())
        np.testing.assert_allclose(rest["squares"], finite.dot(finite), rtol=1e-12)


def near(values):
    """The numbers, and those next to them on either side."""
    values = np.asarray(values)
    ends = np.array([-np.inf, np.inf], values.dtype)
    return np.concatenate([values, np.nextafter(values, ends[0]), np.nextafter(values, ends[1])])


def test_the_edges_are_torchs(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        assert writer.default_bins == EDGES.tolist()


numbers_of_any_kind = st.one_of(
    st.floats(),
    st.floats(-1e-11, 1e-11),
    st.floats(-1, 1),
    st.sampled_from(EDGES.tolist()),
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1e-45, -1e-45, 1.7e308, 3.5e38]),
)


@given(numbers=st.lists(numbers_of_any_kind, max_size=60))
@example(numbers=[])
@example(numbers=[math.nan])
@example(numbers=[1e308, 1e308, -1e308])
@settings(max_examples=400, deadline=None)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_counts_are_numpys(dtype, numbers):
    with np.errstate(over="ignore"):
        assert_as_numpy(np.array(numbers, np.float64).astype(dtype))


@settings(deadline=None)
@given(bits=arrays.arrays(np.uint32, st.integers(0, 70)))
def test_any_bits_of_floats_are_counted(bits):
    with np.errstate(invalid="ignore"):
        assert_as_numpy(bits.view(np.float32))


@settings(deadline=None)
@given(bits=arrays.arrays(np.uint64, st.integers(0, 70)))
def test_any_bits_of_doubles_are_counted(bits):
    assert_as_numpy(bits.view(np.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_edge_and_its_neighbors_are_in_the_right_bucket(dtype):
    for x in near(EDGES.astype(dtype)):
        bucket = int(np.searchsorted(EDGES, np.float64(x), side="right")) - 1
        if x == EDGES[-1]:
            bucket -= 1  # the last includes its right edge
        within = 0 <= bucket < len(EDGES) - 1
        *_, first, counts = count_values(np.array([x]))
        assert (first, len(counts)) == (bucket, 8) if within else not counts, x


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_ends_of_every_cell_of_the_table_are_in_the_right_bucket(dtype):
    """A cell is 2**19 floats. A double belongs to the cell of its nearest float, so those around the ends matter."""
    firsts = (np.arange(1 << 13, dtype=np.uint32) << 19).view(np.float32)
    lasts = ((np.arange(1 << 13, dtype=np.uint32) << 19) + ((1 << 19) - 1)).view(np.float32)
    with np.errstate(all="ignore"):
        ends = np.concatenate([firsts, lasts])
        ends = ends[np.isfinite(ends)]
        # The doubles half a float away can be rounded either way.
        half = np.nan_to_num(np.spacing(np.abs(ends)), posinf=0).astype(np.float64) / 2
        ends = np.concatenate([ends, ends + half, ends - half])
        assert_as_numpy(near(ends.astype(dtype)))


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_length_is_counted(dtype, length):
    rng = np.random.default_rng(length)
    assert_as_numpy((rng.normal(size=length) * np.exp(rng.normal(size=length) * 20)).astype(dtype))


@pytest.mark.parametrize("at", [0, 1, 700, 1024, 2999])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_affects_nothing_else(at, bad):
    numbers = np.random.default_rng(0).normal(size=3000).astype(np.float32)
    numbers[at] = bad
    assert_as_numpy(numbers)


def test_numbers_with_infinite_squares_keep_their_sum():
    _, rest = counted(np.array([1e200, 2e200]))
    assert (rest["num"], rest["sum"], rest["squares"]) == (2, 3e200, math.inf)


def test_the_buffer_can_have_any_shape():
    buckets, rest = counted(np.ones((3, 4, 5), np.float32))
    assert (buckets.sum(), rest["num"]) == (60, 60)


@pytest.mark.parametrize("wrong", [np.ones(3, np.int32), np.ones(3, np.float16), b"abcd", np.ones(3, ">f4")], ids=str)
def test_anything_but_floats_is_rejected(wrong):
    with pytest.raises(ValueError, match="float32 or float64"):
        count_values(wrong)


def test_a_strided_buffer_is_rejected():
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        count_values(np.ones(10, np.float32)[::2])


def test_misaligned_numbers_are_rejected():
    with pytest.raises(ValueError, match="aligned"):
        count_values(np.frombuffer(bytes(9), np.float32, offset=1))
