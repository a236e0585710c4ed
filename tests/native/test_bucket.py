"""Columns of pixels and smoothers, held against the plainest code that says what they are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulseboard.native import curves
from pulseboard.native.curves import Pyramid

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


# ---- what a range comes to


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


def told_extent(values, pyramid, start, end):
    low, high, _, first, last, at_low, at_high, finite, *odd = curves.extent(values, pyramid, start, end)
    return (low, high, first, last, at_low, at_high, finite) if finite else None, *odd


@given(st.data(), st.lists(numbers, max_size=40), st.integers(0, 3000))
def test_any_range_comes_to_what_its_values_come_to(data, pattern, length):
    values = np.resize(np.array(pattern), length) if pattern else np.empty(0)
    start = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(start, len(values)))
    pyramid = Pyramid()
    pyramid.extend(values[: data.draw(st.integers(0, len(values)))])
    assert told_extent(values, pyramid, start, end) == plain_extent(values, start, end)
    pyramid.extend(values)
    assert told_extent(values, pyramid, start, end) == plain_extent(values, start, end)
    assert told_extent(values, None, start, end) == plain_extent(values, start, end)


def test_the_sum_of_a_range_is_the_sum_of_its_finite_values():
    values = np.random.default_rng(0).normal(size=10_000)
    values[::7] = math.nan
    pyramid = Pyramid()
    pyramid.extend(values)
    assert curves.extent(values, pyramid, 11, 9_900)[2] == pytest.approx(np.nansum(values[11:9_900]))


def test_a_pyramid_of_many_levels_finds_the_one_spike_wherever_it_is():
    values = np.zeros(40_000)
    pyramid = Pyramid()
    for spike in (0, 31, 32, 1_023, 1_024, 32_767, 32_768, 39_999):
        values[:] = 0
        values[spike] = 1
        pyramid = Pyramid()
        pyramid.extend(values)
        assert curves.extent(values, pyramid, 0, len(values))[6] == spike


def test_a_pyramid_does_not_take_a_series_that_is_shorter_than_before():
    pyramid = Pyramid()
    pyramid.extend(np.zeros(100))
    with pytest.raises(ValueError, match="only grows"):
        pyramid.extend(np.zeros(99))


# ---- columns


def plain_rows(x, values, *, origin, low, high, columns, logarithmic):
    """A row for each column, by looking at every point. A column's edge is in it; the last has both of its edges."""
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


def told_rows(x, values, pyramid, *, low, high, **how):
    start, end = curves.places(x, how["origin"], low, high)
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
def test_columns_hold_what_plain_code_puts_into_them(data, points, columns, begin, logarithmic):
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
    told = told_rows(x, values, pyramid, **how)
    plain = plain_rows(x, values, **how)
    assert len(told) == len(plain)
    for a, b in zip(told, plain, strict=True):
        assert all(same(a[name], b[name]) for name in b), (a, b)


def test_the_first_point_with_the_least_value_is_where_the_minimum_stands():
    values = np.array([3.0, 1, 1, 2, 5, 5, 0, 0])
    assert curves.extent(values, None, 0, 8)[5:7] == (6, 4)


def test_points_that_all_have_one_x_are_one_column():
    x, values = np.full(1000, 7.0), np.arange(1000.0)
    [row] = told_rows(x, values, None, origin=0.0, low=7.0, high=7.0, columns=100, logarithmic=False)
    assert (row["count"], row["first"], row["last"]) == (1000, 0, 999)


def test_no_points_are_no_rows():
    nothing = np.empty(0)
    assert told_rows(nothing, nothing, Pyramid(), origin=0.0, low=0.0, high=1.0, columns=10, logarithmic=False) == []


def test_the_means_of_columns_are_of_their_finite_values():
    x = np.arange(10_000.0)
    values = np.sin(x)
    values[::3] = math.nan
    pyramid = Pyramid()
    pyramid.extend(values)
    how = {"origin": 0.0, "low": 0.0, "high": 9_999.0, "columns": 10, "logarithmic": False}
    rows = curves.bucket(x, values, pyramid, 0, len(x), names=["mean"], **how)
    assert np.frombuffer(rows["mean"]) == pytest.approx(np.nanmean(values.reshape(10, 1000), axis=1))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=50), st.floats(-100, 100))
def test_places_are_those_of_a_binary_search(numbers, bound):
    x = np.sort(np.array(numbers))
    low, high = bound, bound + 10
    expected = (
        np.searchsorted(x, low, "left"),
        max(np.searchsorted(x, high, "right"), np.searchsorted(x, low, "left")),
    )
    assert curves.places(x, 0.0, low, high) == expected


def test_a_range_outside_the_series_is_refused():
    how = {"origin": 0.0, "low": 0.0, "high": 1.0, "columns": 1, "logarithmic": False, "names": ["x"]}
    with pytest.raises(IndexError):
        curves.bucket(np.zeros(3), np.zeros(3), None, 0, 4, **how)


# ---- smoothing


def smoothed(smoother, values, *how, x=None):
    out = np.empty(len(values))
    smoother(*([] if x is None else [x]), values, *how, out)
    return out


def plain_debiased(values, weight):
    """TensorBoard's loop, line by line."""
    last, taken, out = 0.0, 0, []
    for value in values.tolist():
        if not math.isfinite(value):
            out.append(value)
            continue
        last = last * weight + (1 - weight) * value
        taken += 1
        out.append(last / (1 if weight == 1 else 1 - weight**taken))
    return out


usual = st.lists(st.one_of(st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf, -math.inf])), max_size=200).map(
    lambda numbers: np.array(numbers, float)
)


@given(usual, st.sampled_from([0.0, 0.3, 0.6, 0.9, 0.99, 0.999]), st.data())
def test_debiased_smoothing_is_tensorboards_and_goes_on_where_it_stopped(values, weight, data):
    cut = data.draw(st.integers(0, len(values)))
    out = np.empty(len(values))
    state = curves.smooth_debiased(values[:cut], weight, out[:cut])
    curves.smooth_debiased(values[cut:], weight, out[cut:], state)
    assert out.tolist() == pytest.approx(plain_debiased(values, weight), rel=1e-12, abs=1e-300, nan_ok=True)


def plain_weighted(values, weight_of):
    """At each finite value the mean of all finite values, by weights."""
    finite = [i for i, value in enumerate(values) if math.isfinite(value)]
    out = list(values)
    for i in finite:
        weights = [weight_of(i, j) for j in finite]
        total = sum(weights)
        out[i] = sum(weight * values[j] for weight, j in zip(weights, finite, strict=True)) / total
    return out


@given(usual, st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.7, 30.0]))
def test_gaussian_smoothing_is_a_mean_by_a_bell_that_leaves_out_what_is_not_finite(values, sigma):
    reach = math.ceil(4 * sigma)

    def weight(i, j):
        if not sigma or abs(i - j) > reach:
            return float(i == j)
        return math.exp(-0.5 * ((i - j) / sigma) ** 2)

    assert smoothed(curves.smooth_gaussian, values, sigma).tolist() == pytest.approx(
        plain_weighted(values.tolist(), weight), rel=1e-9, abs=1e-6, nan_ok=True
    )


@given(usual, st.integers(0, 60))
def test_a_running_mean_is_the_mean_of_the_finite_points_around(values, width):
    behind, ahead = width // 2, max(width - 1 - width // 2, 0)

    def weight(i, j):
        return float(-behind <= j - i <= ahead) if width else float(i == j)

    assert smoothed(curves.smooth_mean, values, width).tolist() == pytest.approx(
        plain_weighted(values.tolist(), weight), rel=1e-9, abs=1e-6, nan_ok=True
    )


def test_a_running_mean_forgets_a_huge_value_once_it_is_past():
    values = np.ones(100)
    values[10] = 1e300
    assert smoothed(curves.smooth_mean, values, 5)[20:].tolist() == [1.0] * 80


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(-100, 100) | st.just(math.nan)), max_size=80), st.floats(0, 0.99))
def test_time_weighted_smoothing_fades_with_distance(points, weight):
    x = np.cumsum([0.0] + [distance for distance, _ in points])[1:]
    values = np.array([value for _, value in points])
    unit = 0.5

    def weight_of(i, j):
        return 0.0 if j > i else weight ** ((x[i] - x[j]) / unit)

    assert smoothed(curves.smooth_faded, values, weight, unit, x=x).tolist() == pytest.approx(
        plain_weighted(values.tolist(), weight_of), rel=1e-6, abs=1e-6, nan_ok=True
    )


@given(usual, st.sampled_from(["debiased", "faded", "gaussian", "mean"]))
def test_what_is_not_finite_stays_as_it_is_and_bends_nothing(values, kind):
    there = np.isfinite(values)
    smoothers = {
        "debiased": lambda: smoothed(curves.smooth_debiased, values, 0.9),
        "faded": lambda: smoothed(curves.smooth_faded, values, 0.9, 1.0, x=np.arange(float(len(values)))),
        "gaussian": lambda: smoothed(curves.smooth_gaussian, values, 2.0),
        "mean": lambda: smoothed(curves.smooth_mean, values, 7),
    }
    out = smoothers[kind]()
    assert np.array_equal(out[~there], values[~there], equal_nan=True)
    assert np.isfinite(out[there]).all()


def test_room_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="room for 2"):
        curves.smooth_mean(np.zeros(3), 3, np.zeros(2))
