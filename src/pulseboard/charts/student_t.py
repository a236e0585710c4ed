"""Student's t distribution: how many standard errors make a 95% confidence interval of a mean."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def quantile_975(degrees_of_freedom: NDArray[Any]) -> NDArray[np.float64]:
    """The 0.975 quantile for each number of degrees of freedom; NaN for numbers below 1."""
    quantiles = {int(n): _quantile(int(n)) for n in np.unique(degrees_of_freedom)}
    return np.array([quantiles[int(n)] for n in degrees_of_freedom], np.float64)


@cache
def _quantile(degrees_of_freedom: int) -> float:
    if degrees_of_freedom < 1:
        return math.nan
    low, high = 1.9, 13.0  # the quantile is 12.706 for one degree of freedom and falls to 1.960
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if _probability_within(middle, degrees_of_freedom) < 0.95 else (low, middle)
    return (low + high) / 2


def _probability_within(t: float, degrees_of_freedom: int) -> float:
    """The probability of a value between -t and t, by the finite series (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees_of_freedom))
    odd = degrees_of_freedom % 2 == 1
    if degrees_of_freedom == 1:
        return 2 * angle / math.pi
    cosine = math.cos(angle)
    term = cosine if odd else 1.0
    total = term
    for k in range(3 if odd else 2, degrees_of_freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
