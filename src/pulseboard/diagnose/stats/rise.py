"""Rise from the best: whether a series that should fall has turned up and stayed up."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.stats.course import centered_median
from pulseboard.diagnose.stats.noise import Floats, noise_scale, persistence, running_median
from pulseboard.diagnose.track import Points


@dataclass(frozen=True, slots=True)
class Rise:
    """When and by how much a series rose above its best level."""

    best: float
    best_step: int
    since_step: int  # the first step clearly above
    level: float  # now
    surprise: float  # the rise in standard errors of a window's median

    @property
    def share(self) -> float:
        """The rise as a share of the best level's size."""
        return (self.level - self.best) / abs(self.best) if self.best else math.inf


def rise_from_best(points: Points, *, width: int, least_surprise: float, windows: int = 3) -> Rise | None:
    """A rise of the running median above its minimum by `least_surprise` standard errors, in each last window."""
    steps, values = points
    n = len(values)
    if n < max(6, windows + 2):
        return None
    width = max(1, min(width, n // 4))
    level = running_median(values, width)
    scale = max(noise_scale(values), 1e-12 + 1e-6 * float(np.median(np.abs(values))))
    error = 1.25 * scale / math.sqrt(width) * _widening(values, level, width)
    lowest_at = int(np.argmin(level[width - 1 :])) + width - 1
    lowest = float(level[lowest_at])
    # The last windows that do not overlap: all of them must be high.
    ends = [n - 1 - i * width for i in range(windows)]
    if ends[-1] <= lowest_at:
        return None
    surprise = min((float(level[end]) - lowest) / error for end in ends)
    if surprise <= least_surprise:
        return None
    above = np.flatnonzero((level - lowest) / error > least_surprise)
    above = above[above > lowest_at]
    back = np.flatnonzero((level - lowest) / error <= least_surprise)
    last_low = int(back[-1]) if len(back) else lowest_at
    since = int(above[above > last_low][0]) if (above > last_low).any() else int(above[0])
    return Rise(lowest, int(steps[lowest_at]), int(steps[since]), float(level[-1]), surprise)


def _widening(values: Floats, level: Floats, width: int) -> float:
    """By how much the error of a median grows if neighbors are alike.

    Such points differ less from each other than from the level, and average out more slowly. What is left around a
    clear rise is alike too, so it counts only as far as it matters compared with the rise.
    """
    left = values - centered_median(values, 2 * width + 1)
    phi = persistence(left)
    rise, variance = float(level[-1] - level.min()), float(left.var())
    share = variance / (variance + rise**2 / 12) if variance > 0 else 0.0
    return math.sqrt(1 + share * ((1 + phi) / (1 - phi) ** 2 - 1))
