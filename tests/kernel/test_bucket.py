"""Pixel columns, compared with simple code that looks at every point."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulseboard.kernel import curves
from pulseboard.kernel.curves import Pyramid

numbers = st.one_of(
    st.floats(width=64),
    st.floats(-10, 10),
    st.sampled_from([0.0, 1.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324]),
)
series = st.lists(numbers, max_size=300).map(np.array)
distances = st.one_of(st.just(0.0), st.floats(0, 10), st.sampled_from([1.0, 2.0**53, 1e-9]))


def same(a, b):
    """Equal numbers, NaN to NaN."""
    return a == b or (math.isnan(a) and math.isnan(b))


# ---- summaries of a range


def plain_extent(values, start, end):
    finite = [(value, i) for i, value in enumerate(values[start:end].tolist(), start) if math.isfinite(value)]
    nan = sum(math.isnan(value) for value in values[start:end].tolist())
    plus, minus = (values[start:end].tolist().count(infinity) for infinity in (math.inf, -math.inf))
    if not finite:
        return None, nan, plus, minus
    low = min(value for value, _ in finite)
    high = max(value for value, _ in finite)
    at_low = next(i for value, i in finite if value == low)
    at_high = next(i for value, i in finite if value == high)
    return (low, high, finite[0][1], finite[-1][1], at_low, at_high, len(finite)), nan, plus, minus


def kernel_extent(values, pyramid, start, end):
    low, high, _, first, last, at_low, at_high, finite, *odd = curves.extent(values, pyramid, start, end)
    return (low, high, first, last, at_low, at_high, finite) if finite else None, *odd


@given(st.data(), st.lists(numbers, max_size=40), st.integers(0, 3000))
def test_the_extent_of_any_range_is_that_of_its_values(data, pattern, length):
    values = np.resize(np.array(pattern), length) if pattern else np.empty(0)
    start = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(start, len(values)))
    pyramid = Pyramid()
    pyramid.extend(values[: data.draw(st.integers(0, len(values)))])
    assert kernel_extent(values, pyramid, start, end) == plain_extent(values, start, end)
    pyramid.extend(values)
    assert kernel_extent(values, pyramid, start, end) == plain_extent(values, start, end)
    assert kernel_extent(values, None, start, end) == plain_extent(values, start, end)


def test_the_sum_of_a_range_is_the_sum_of_its_finite_values():
    values = np.random.default_rng(0).normal(size=10_000)
    values[::7] = math.nan
    pyramid = Pyramid()
    pyramid.extend(values)
    assert curves.extent(values, pyramid, 11, 9_900)[2] == pytest.approx(np.nansum(values[11:9_900]))


def test_a_pyramid_with_many_levels_finds_a_single_spike_anywhere():
    values = np.zeros(40_000)
    pyramid = Pyramid()
    for spike in (0, 31, 32, 1_023, 1_024, 32_767, 32_768, 39_999):
        values[:] = 0
        values[spike] = 1
        pyramid = Pyramid()
        pyramid.extend(values)
        assert curves.extent(values, pyramid, 0, len(values))[6] == spike


def test_a_pyramid_rejects_a_series_that_became_shorter():
    pyramid = Pyramid()
    pyramid.extend(np.zeros(100))
    with pytest.raises(ValueError, match="only grows"):
        pyramid.extend(np.zeros(99))


# ---- columns


def plain_rows(x, values, *, origin, low, high, columns, logarithmic):
    """One row per column, by looking at every point. A column includes its left edge; the last includes both."""
    edges = curves.edges(low, high, columns, logarithmic)
    of_column = {}
    for i, at in enumerate((x - origin).tolist()):
        if low <= at <= high:
            k = max(k for k in range(len(edges) - 1) if k == 0 or edges[k] <= at)
            of_column.setdefault(k, []).append(i)
    rows = []
    for k in sorted(of_column):
        chosen = of_column[k]
        finite = [i for i in chosen if math.isfinite(values[i])]
        row = {"x": x[chosen[0]] - origin, "count": len(chosen)}
        row["nan"] = sum(math.isnan(values[i]) for i in chosen)
        row["plus_inf"] = sum(values[i] == math.inf for i in chosen)
        row["minus_inf"] = sum(values[i] == -math.inf for i in chosen)
        row["min"] = min(values[finite], default=math.nan)
        row["max"] = max(values[finite], default=math.nan)
        row["first"] = values[finite[0]] if finite else math.nan
        row["last"] = values[finite[-1]] if finite else math.nan
        row["at_last"] = finite[-1] if finite else -1
        rows.append(row)
    return rows


def kernel_rows(x, values, pyramid, *, low, high, **how):
    start, end = curves.index_range(x, how["origin"], low, high)
    types = {"at_last": np.int64} | dict.fromkeys(("count", "nan", "plus_inf", "minus_inf"), np.uint32)
    names = ("x", "first", "min", "max", "last", *types)
    rows = curves.bucket(x, values, pyramid, start, end, low=low, high=high, names=names, **how)
    columns = {name: np.frombuffer(row, types.get(name, np.float64)).tolist() for name, row in rows.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@given(
    st.data(),
    st.lists(st.tuples(distances, numbers), min_size=1, max_size=200),
    st.integers(1, 40),
    st.sampled_from([0.0, -1e6, 1.0, 2.0**53]),
    st.booleans(),
)
def test_columns_are_those_of_a_simple_implementation(data, points, columns, begin, logarithmic):
    x = begin + np.cumsum([distance for distance, _ in points])
    values = np.array([value for _, value in points])
    origin = data.draw(st.sampled_from([0.0, float(x[0]), float(x[len(x) // 2])]))
    at = (x - origin).tolist()
    bounds = st.one_of(st.sampled_from(at), st.floats(min(at) - 1, max(at) + 1))
    low, high = sorted((data.draw(bounds), data.draw(bounds)))
    if logarithmic and low <= 0:
        low, high = 1e-3, max(high, 1.0)
    how = {"origin": origin, "low": low, "high": high, "columns": columns, "logarithmic": logarithmic}
    pyramid = Pyramid()
    pyramid.extend(values)
    rows = kernel_rows(x, values, pyramid, **how)
    plain = plain_rows(x, values, **how)
    assert len(rows) == len(plain)
    for a, b in zip(rows, plain, strict=True):
        assert all(same(a[name], b[name]) for name in b), (a, b)


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 7, 2**40]), numbers), min_size=1, max_size=200),
    st.sampled_from([0, -9, 2**53 + 1, 2**62]),
    st.integers(1, 40),
)
def test_whole_x_give_the_columns_of_the_same_floats(points, begin, columns):
    whole = begin + np.cumsum([distance for distance, _ in points])
    values = np.array([value for _, value in points])
    how = {"origin": 0.0, "low": float(whole[0]), "high": float(whole[-1]), "columns": columns, "logarithmic": False}
    ours, expected = (kernel_rows(x, values, None, **how) for x in (whole, whole.astype(np.float64)))
    assert len(ours) == len(expected) > 0
    assert all(same(a[name], b[name]) for a, b in zip(ours, expected, strict=True) for name in b)


def test_x_of_another_type_are_rejected():
    with pytest.raises(ValueError, match="mismatch"):
        curves.index_range(np.zeros(3, np.float32), 0.0, 0.0, 1.0)


def test_at_min_is_the_first_of_several_equal_minimums():
    values = np.array([3.0, 1, 1, 2, 5, 5, 0, 0])
    assert curves.extent(values, None, 0, 8)[5:7] == (6, 4)


def test_points_with_the_same_x_share_one_column():
    x, values = np.full(1000, 7.0), np.arange(1000.0)
    [row] = kernel_rows(x, values, None, origin=0.0, low=7.0, high=7.0, columns=100, logarithmic=False)
    assert (row["count"], row["first"], row["last"]) == (1000, 0, 999)


def test_no_points_give_no_rows():
    nothing = np.empty(0)
    assert kernel_rows(nothing, nothing, Pyramid(), origin=0.0, low=0.0, high=1.0, columns=10, logarithmic=False) == []


def test_the_mean_of_a_column_is_that_of_its_finite_values():
    x = np.arange(10_000.0)
    values = np.sin(x)
    values[::3] = math.nan
    pyramid = Pyramid()
    pyramid.extend(values)
    how = {"origin": 0.0, "low": 0.0, "high": 9_999.0, "columns": 10, "logarithmic": False}
    rows = curves.bucket(x, values, pyramid, 0, len(x), names=["mean"], **how)
    assert np.frombuffer(rows["mean"]) == pytest.approx(np.nanmean(values.reshape(10, 1000), axis=1))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=50), st.floats(-100, 100))
def test_an_index_range_is_that_of_a_binary_search(numbers, bound):
    x = np.sort(np.array(numbers))
    low, high = bound, bound + 10
    expected = (
        np.searchsorted(x, low, "left"),
        max(np.searchsorted(x, high, "right"), np.searchsorted(x, low, "left")),
    )
    assert curves.index_range(x, 0.0, low, high) == expected


def test_a_range_outside_the_series_is_rejected():
    how = {"origin": 0.0, "low": 0.0, "high": 1.0, "columns": 1, "logarithmic": False, "names": ["x"]}
    with pytest.raises(IndexError):
        curves.bucket(np.zeros(3), np.zeros(3), None, 0, 4, **how)
