"""Smoothers, compared with simple code."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulseboard.kernel import curves


def smoothed(smoother, values, *how, x=None):
    out = np.empty(len(values))
    smoother(*([] if x is None else [x]), values, *how, out)
    return out


def plain_debiased(values, weight):
    """TensorBoard's loop, line by line."""
    last, count, out = 0.0, 0, []
    for value in values.tolist():
        if not math.isfinite(value):
            out.append(value)
            continue
        last = last * weight + (1 - weight) * value
        count += 1
        out.append(last / (1 if weight == 1 else 1 - weight**count))
    return out


series = st.lists(st.one_of(st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf, -math.inf])), max_size=200).map(
    lambda numbers: np.array(numbers, float)
)


@given(series, st.sampled_from([0.0, 0.3, 0.6, 0.9, 0.99, 0.999]), st.data())
def test_debiased_smoothing_is_tensorboards_and_can_be_continued(values, weight, data):
    cut = data.draw(st.integers(0, len(values)))
    out = np.empty(len(values))
    state = curves.smooth_debiased(values[:cut], weight, out[:cut])
    curves.smooth_debiased(values[cut:], weight, out[cut:], state)
    assert out.tolist() == pytest.approx(plain_debiased(values, weight), rel=1e-12, abs=1e-300, nan_ok=True)


def plain_weighted(values, weight_of):
    """Each finite value replaced by the weighted mean of all finite values."""
    finite = [i for i, value in enumerate(values) if math.isfinite(value)]
    out = list(values)
    for i in finite:
        weights = [weight_of(i, j) for j in finite]
        total = sum(weights)
        out[i] = sum(weight * values[j] for weight, j in zip(weights, finite, strict=True)) / total
    return out


@given(series, st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.7, 30.0]))
def test_gaussian_smoothing_is_a_gaussian_mean_of_the_finite_values(values, sigma):
    reach = math.ceil(4 * sigma)

    def weight(i, j):
        if not sigma or abs(i - j) > reach:
            return float(i == j)
        return math.exp(-0.5 * ((i - j) / sigma) ** 2)

    assert smoothed(curves.smooth_gaussian, values, sigma).tolist() == pytest.approx(
        plain_weighted(values.tolist(), weight), rel=1e-9, abs=1e-6, nan_ok=True
    )


@given(series, st.integers(0, 60))
def test_a_running_mean_is_the_mean_of_the_finite_points_in_its_window(values, width):
    behind, ahead = width // 2, max(width - 1 - width // 2, 0)

    def weight(i, j):
        return float(-behind <= j - i <= ahead) if width else float(i == j)

    assert smoothed(curves.smooth_mean, values, width).tolist() == pytest.approx(
        plain_weighted(values.tolist(), weight), rel=1e-9, abs=1e-6, nan_ok=True
    )


def test_a_huge_value_does_not_affect_a_running_mean_after_its_window():
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


@given(series, st.sampled_from(["debiased", "faded", "gaussian", "mean"]))
def test_values_that_are_not_finite_stay_unchanged_and_affect_no_others(values, kind):
    finite = np.isfinite(values)
    smoothers = {
        "debiased": lambda: smoothed(curves.smooth_debiased, values, 0.9),
        "faded": lambda: smoothed(curves.smooth_faded, values, 0.9, 1.0, x=np.arange(float(len(values)))),
        "gaussian": lambda: smoothed(curves.smooth_gaussian, values, 2.0),
        "mean": lambda: smoothed(curves.smooth_mean, values, 7),
    }
    out = smoothers[kind]()
    assert np.array_equal(out[~finite], values[~finite], equal_nan=True)
    assert np.isfinite(out[finite]).all()


def test_an_output_of_the_wrong_size_is_rejected():
    with pytest.raises(ValueError, match="room for 2"):
        curves.smooth_mean(np.zeros(3), 3, np.zeros(2))
