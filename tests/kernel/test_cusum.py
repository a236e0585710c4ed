"""The change test: it detects changes of level, and ignores noise, falls and single points."""

import numpy as np
import pytest

from pulseboard.kernel.cusum import Cusum


def healthy(n=3000, seed=0, persistence=0.0):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=n) * 0.05
    for i in range(1, n):
        noise[i] += persistence * noise[i - 1]
    return 2.0 + 3.0 * np.exp(-np.arange(n) / 400) + noise


def alarms(values, **options):
    test = Cusum(**options)
    test.take(np.arange(len(values), dtype=np.int64), np.ascontiguousarray(values))
    return test.alarms


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("persistence", [0.0, 0.5])
@pytest.mark.parametrize("block", [1, 16])
def test_a_healthy_curve_raises_no_alarm(seed, persistence, block):
    assert alarms(healthy(seed=seed, persistence=persistence), block=block) == []


def test_a_level_shift_is_detected_within_a_few_points_and_does_not_return():
    values = healthy()
    values[2000:] += 0.3
    (alarm,) = alarms(values)
    assert 2000 <= alarm["first_step"] <= 2005
    assert alarm["alarm_step"] <= 2015
    assert alarm["returned"] is not True


def test_a_spike_is_detected_and_returns():
    values = healthy()
    values[2000:] += 1.0 * np.exp(-np.arange(1000) / 30)
    (alarm,) = alarms(values)
    assert 2000 <= alarm["first_step"] <= 2002
    assert alarm["returned"] is True
    assert alarm["peak"] == pytest.approx(3.0, abs=0.2)
    assert 2010 < alarm["end_step"] < 2300


def test_a_single_point_is_not_a_change():
    values = healthy()
    values[2000] += 100.0
    assert alarms(values) == []


def test_a_fall_is_detected_only_with_sign_minus_one():
    values = 2.0 + np.random.default_rng(0).normal(size=3000) * 0.05
    values[2000:] -= 0.5
    assert alarms(values) == []
    assert [2000 <= alarm["first_step"] <= 2005 for alarm in alarms(values, sign=-1)] == [True]


def test_a_slow_drift_is_detected_in_means_of_sixteen_points():
    values = healthy(n=6000)
    values[3000:] += 0.001 * np.arange(3000)
    assert any(alarm["first_step"] >= 2900 for alarm in alarms(values, block=16))


def test_points_that_are_not_finite_are_skipped():
    values = healthy()
    values[::7] = np.nan
    values[500:520] = np.inf
    assert alarms(values) == []


def test_a_constant_series_and_an_empty_one_raise_no_alarm():
    assert alarms(np.full(500, 1.0)) == []
    assert alarms(np.empty(0)) == []


def test_on_a_log_scale_values_that_are_not_positive_are_skipped():
    values = np.abs(healthy()) * np.where(np.arange(3000) % 5 == 0, 0.0, 1.0)
    assert alarms(values, use_log=True) == []


def test_the_result_does_not_depend_on_how_points_are_split_over_calls():
    values = healthy()
    values[1500:1600] += 1.0
    whole = alarms(values)
    test = Cusum()
    for i in range(0, 3000, 7):
        test.take(np.arange(i, min(3000, i + 7), dtype=np.int64), np.ascontiguousarray(values[i : i + 7]))
    assert test.alarms == whole
