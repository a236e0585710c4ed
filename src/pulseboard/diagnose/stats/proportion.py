"""Proportion: what a count says about the underlying rate."""

from __future__ import annotations

import math


def least_rate(successes: int, trials: int, *, confidence: float = 0.999) -> float:
    """Clopper-Pearson lower bound: the rate is at least this, with the given confidence."""
    if successes <= 0 or trials <= 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = 0.5 * (low + high)
        if _at_least(successes, trials, rate) < 1.0 - confidence:
            low = rate
        else:
            high = rate
    return low


def _at_least(successes: int, trials: int, rate: float) -> float:
    """The probability of at least this many successes at this rate."""
    if rate <= 0.0:
        return 0.0
    if rate >= 1.0:
        return 1.0
    terms = (
        math.exp(
            math.lgamma(trials + 1)
            - math.lgamma(k + 1)
            - math.lgamma(trials - k + 1)
            + k * math.log(rate)
            + (trials - k) * math.log1p(-rate)
        )
        for k in range(successes, trials + 1)
    )
    return min(1.0, sum(terms))
