"""Noise: how much a series varies around its own trend."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pulseboard.diagnose.stats.median import median, prefix_medians, window_medians

Floats = NDArray[np.float64]


def noise_scale(values: Floats) -> float:
    """The standard deviation of the noise, from differences of neighbors, so slow trends do not count."""
    if len(values) < 3:
        return 0.0
    differences = np.diff(values)
    spread = 1.4826 * median(np.abs(differences - median(differences))) / np.sqrt(2.0)
    if spread == 0.0:  # more than half of the differences are equal: rounded values
        spread = float(np.std(differences)) / np.sqrt(2.0)
    return float(spread)


def running_median(values: Floats, width: int) -> Floats:
    """The median of each window of `width` points that ends at a point; the first windows are shorter."""
    n = len(values)
    if n == 0 or width <= 1:
        return values
    width = min(width, n)
    return np.concatenate([prefix_medians(values, width - 1), window_medians(values, width)])
