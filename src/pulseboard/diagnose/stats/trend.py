"""Trend: whether a series clearly rises or falls, and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pulseboard.diagnose.stats.median import median
from pulseboard.diagnose.stats.noise import persistence
from pulseboard.diagnose.track import Points

Floats = NDArray[np.float64]

# More points than this are averaged first, because the test compares all pairs.
MOST_POINTS = 256


@dataclass(frozen=True, slots=True)
class Trend:
    """A line through a series, robust to outliers."""

    slope: float  # per step
    z: float  # Mann-Kendall, with the variance corrected for autocorrelation; above 0 if it rises
    start: float  # the line at the first point
    end: float  # the line at the last point

    @property
    def p_rising(self) -> float:
        """The probability of such a rise in a series without a trend."""
        return 0.5 * math.erfc(self.z / math.sqrt(2.0))

    @property
    def p_falling(self) -> float:
        """The probability of such a fall in a series without a trend."""
        return 0.5 * math.erfc(-self.z / math.sqrt(2.0))


def trend(points: Points) -> Trend | None:
    """Theil-Sen slope and Mann-Kendall test; None for fewer than 8 points."""
    steps, values = _thinned(points)
    n = len(values)
    if n < 8:
        return None
    x = steps.astype(np.float64)
    later, earlier = _pairs(n)
    distance = x[later] - x[earlier]
    some = distance > 0
    rise = values[later] - values[earlier]
    if not some.any():
        return None
    slope = median(rise[some] / distance[some])
    middle = median(values - slope * x)
    score = float(np.sign(rise).sum())
    variance = n * (n - 1) * (2 * n + 5) / 18.0 * _inflation(values - slope * x, rise=slope * (x[-1] - x[0]))
    z = (score - math.copysign(1.0, score)) / math.sqrt(variance) if score and variance > 0 else 0.0
    return Trend(slope, z, middle + slope * x[0], middle + slope * x[-1])


@lru_cache(maxsize=8)
def _pairs(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The indices of the later and the earlier of every two points."""
    earlier, later = np.triu_indices(n, k=1)
    return later, earlier


def _inflation(residuals: Floats, *, rise: float) -> float:
    """By how much autocorrelated residuals widen the test's variance.

    Only as far as residuals matter compared with the rise: those of a clean curve are correlated too.
    """
    centered = residuals - residuals.mean()
    squares = float((centered**2).sum())
    if squares <= 0:
        return 1.0
    phi = persistence(residuals)
    left = squares / len(residuals)
    share = left / (left + rise**2 / 12)
    return 1 + share * ((1 + phi) / (1 - phi) - 1)


def _thinned(points: Points) -> tuple[NDArray[np.int64], Floats]:
    steps, values = points
    if len(values) <= MOST_POINTS:
        return steps, values
    size = -(-len(values) // MOST_POINTS)
    cut = len(values) - len(values) % size
    return steps[size - 1 : cut : size], values[:cut].reshape(-1, size).mean(axis=1)
