"""Medians are those of NumPy, to the last bit."""

import numpy as np
import pytest

from pulseboard.diagnose.stats.median import median, prefix_medians, window_medians


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 101, 512])
def test_medians_are_the_same_as_numpys(n):
    rng = np.random.default_rng(n)
    for values in (rng.normal(size=n), np.round(rng.normal(size=n)), np.full(n, 1e300), -np.exp(rng.normal(size=n))):
        with np.errstate(over="ignore"):
            assert median(values) == np.median(values)
            assert prefix_medians(values, n) == [np.median(values[: i + 1]) for i in range(n)]
            for width in {1, 2, n // 2 + 1, n} - {0, n + 1}:
                windows = np.lib.stride_tricks.sliding_window_view(values, width)
                assert np.array_equal(window_medians(values, width), np.median(windows, axis=1))


def test_a_median_of_nan_is_nan_and_so_is_that_of_nothing():
    assert np.isnan(median(np.array([1.0, np.nan, 2.0, 3.0, 4.0])))
    assert np.isnan(median(np.empty(0)))
    assert median(np.array([1.0, np.inf, 2.0])) == 2.0
