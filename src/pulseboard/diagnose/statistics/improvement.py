"""Improvement: how far a series has come down, beside its noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.statistics.noise import noise_scale
from pulseboard.diagnose.track import Points


@dataclass(frozen=True, slots=True)
class Improvement:
    """The first and the last third of a series compared."""

    first: float
    last: float
    z: float  # the fall in standard errors; below 0: it rose

    @property
    def share(self) -> float:
        """The fall as a share of where it began."""
        return (self.first - self.last) / abs(self.first) if self.first else 0.0


def improvement(points: Points) -> Improvement | None:
    """None for fewer than 9 points."""
    values = points.values
    n = len(values)
    if n < 9:
        return None
    third = n // 3
    first, last = values[:third], values[-third:]
    scale = max(noise_scale(values), 1e-12 + 1e-9 * float(np.abs(values).max()))
    error = scale * math.sqrt(2.0 / third)
    a, b = float(np.median(first)), float(np.median(last))
    return Improvement(a, b, (a - b) / error)
