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


def persistence(residuals: Floats) -> float:
    """How much of a residual the next one repeats, from 0 to 0.95, corrected for short series.

    Taking out a level or a line makes neighbors look less alike: by about (2 + 4 phi) / n (Kendall, 1954).
    """
    n = len(residuals)
    if n < 8:
        return 0.0
    centered = residuals - residuals.mean()
    squares = float((centered**2).sum())
    if squares <= 0:
        return 0.0
    seen = float((centered[1:] * centered[:-1]).sum()) / squares
    return min(0.95, max(0.0, (seen + 2 / n) / (1 - 4 / n)))


def running_median(values: Floats, width: int) -> Floats:
    """The median of each window of `width` points that ends at a point; the first windows are shorter."""
    n = len(values)
    if n == 0 or width <= 1:
        return values
    width = min(width, n)
    return np.concatenate([prefix_medians(values, width - 1), window_medians(values, width)])
