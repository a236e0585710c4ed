"""Student's t: how many standard errors hold 95% of means."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def quantile_975(freedoms: NDArray[Any]) -> NDArray[np.float64]:
    """The 0.975 quantile for each number of degrees of freedom; NaN for none."""
    known = {int(freedom): _quantile(int(freedom)) for freedom in np.unique(freedoms)}
    return np.array([known[int(freedom)] for freedom in freedoms], np.float64)


@cache
def _quantile(freedom: int) -> float:
    if freedom < 1:
        return math.nan
    low, high = 1.9, 13.0  # 12.706 for one degree of freedom, 1.960 for very many
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < 0.95 else (low, middle)
    return (low + high) / 2


def _within(t: float, freedom: int) -> float:
    """The chance of lying within t of zero, by the finite series (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2 == 1
    if freedom == 1:
        return 2 * angle / math.pi
    cosine = math.cos(angle)
    term = cosine if odd else 1.0
    total = term
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
