"""Smoothing: a series at full resolution, smoothed once and carried on as it grows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pulseboard.native import curves
from pulseboard.store.query import Smoothing

Floats = NDArray[np.float64]

# Time-weighted smoothing is W&B's (docs.wandb.ai, "Smooth line plots"): distances count in thousandths of the extent in
# x, so that one weight looks alike on an axis of a hundred steps and of a million, and the weight's root is what fades.
_UNITS = 1000.0
_MOST_WEIGHT = 0.999


class Smoothed:
    """One way of smoothing one series that grows."""

    def __init__(self, smoothing: Smoothing) -> None:
        self.smoothing = smoothing
        self._room = np.empty(0)
        self._n = 0
        self._state = (0.0, 0)
        self._constant = True

    def of(self, x: Floats, values: Floats) -> Floats:
        """The series smoothed; it begins with all that was given the last time."""
        if len(values) != self._n:
            if self.smoothing.kind == "debiased":
                self._go_on(values)
            else:
                self._anew(x, values)
            self._n = len(values)
        return self._room[: self._n]

    @property
    def held_bytes(self) -> int:
        """Memory."""
        return self._room.nbytes

    def _go_on(self, values: Floats) -> None:
        weight, n = self.smoothing.weight, len(values)
        if n > len(self._room):
            room = np.empty(n if not self._n else n + n // 4)
            room[: self._n] = self._room[: self._n]
            self._room = room
        self._state = curves.smooth_debiased(values[self._n :], weight, self._room[self._n : n], self._state)
        if self._constant:
            # TensorBoard leaves a constant series alone, where rounding would make waves of it.
            self._constant = bool((values[self._n :] == values[0]).all())
            if self._constant:
                self._room[self._n : n] = values[self._n :]
            elif self._n:
                curves.smooth_debiased(values, weight, self._room[:n])

    def _anew(self, x: Floats, values: Floats) -> None:
        out = self._room = np.empty(len(values))
        weight = self.smoothing.weight
        match self.smoothing.kind:
            case "gaussian":
                curves.smooth_gaussian(values, weight, out)
            case "running-mean":
                curves.smooth_mean(values, round(weight), out)
            case _:
                there = x[np.isfinite(x)]
                extent = float(there.max() - there.min()) if len(there) else 0.0
                fading = min(math.sqrt(weight), _MOST_WEIGHT)
                curves.smooth_faded(x, values, fading, extent / _UNITS or 1.0, out)
