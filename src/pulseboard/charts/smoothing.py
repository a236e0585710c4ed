"""Smoothing of a whole series at full resolution, continued as the series grows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.charts.query import Smoothing
from pulseboard.core.cancellation import checkpoint
from pulseboard.kernel import curves

Floats = NDArray[np.float64]

# Time-weighted smoothing follows W&B (docs.wandb.ai, "Smooth line plots"). Distances are in thousandths of the extent
# in x, so one weight looks the same on an axis of a hundred steps and of a million. The decay is the weight's root.
_UNITS = 1000.0
_MAX_DECAY = 0.999

# A Gaussian is cut off where the kernel does (smooth.c): beyond it are 6 of 100,000 parts.
_REACH_SIGMAS = 4
# Products of the exact computation, at 4 per nanosecond: a tenth of a second.
_MAX_PRODUCTS = 400_000_000
_BLOCKS_PER_SIGMA = 32
_PIECE_POINTS = 1 << 16


class SmoothedSeries:
    """One growing series under one kind of smoothing."""

    def __init__(self, smoothing: Smoothing) -> None:
        self.smoothing = smoothing
        self._buffer = np.empty(0)
        self._n = 0
        self._state = (0.0, 0)
        self._constant = True

    def values(self, x: NDArray[Any], values: Floats) -> Floats:
        """The smoothed series. `values` must start with everything passed the last time."""
        if len(values) != self._n:
            if self.smoothing.kind == "debiased":
                self._extend(values)
            else:
                self._recompute(x, values)
            self._n = len(values)
        return self._buffer[: self._n]

    @property
    def held_bytes(self) -> int:
        """Memory in use."""
        return self._buffer.nbytes

    def _extend(self, values: Floats) -> None:
        weight, n = self.smoothing.weight, len(values)
        if n > len(self._buffer):
            buffer = np.empty(n if not self._n else n + n // 4)
            buffer[: self._n] = self._buffer[: self._n]
            self._buffer = buffer
        self._state = curves.smooth_debiased(values[self._n :], weight, self._buffer[self._n : n], self._state)
        if self._constant:
            # TensorBoard does not smooth a constant series, because rounding would make waves of it.
            self._constant = bool((values[self._n :] == values[0]).all())
            if self._constant:
                self._buffer[self._n : n] = values[self._n :]
            elif self._n:
                curves.smooth_debiased(values, weight, self._buffer[:n])

    def _recompute(self, x: NDArray[Any], values: Floats) -> None:
        out = self._buffer = np.empty(len(values))
        weight = self.smoothing.weight
        match self.smoothing.kind:
            case "gaussian":
                _smooth_gaussian(values, weight, out)
            case "running-mean":
                curves.smooth_mean(values, round(weight), out)
            case _:
                x = x.astype(np.float64, copy=False)
                finite = x[np.isfinite(x)]
                extent = float(finite.max() - finite.min()) if len(finite) else 0.0
                decay = min(math.sqrt(weight), _MAX_DECAY)
                curves.smooth_faded(x, values, decay, extent / _UNITS or 1.0, out)


def _smooth_gaussian(values: Floats, sigma: float, out: Floats) -> None:
    """In pieces, so that it can be cancelled. A wide kernel over many points is computed on means of blocks."""
    n, reach = len(values), math.ceil(_REACH_SIGMAS * sigma)
    if n * reach > _MAX_PRODUCTS and sigma > 2 * _BLOCKS_PER_SIGMA:
        _smooth_blocks(values, sigma, out)
        return
    for start in range(0, n, _PIECE_POINTS):
        checkpoint()
        end = min(start + _PIECE_POINTS, n)
        first, last = max(start - reach, 0), min(end + reach, n)
        smooth = np.empty(last - first)
        curves.smooth_gaussian(np.ascontiguousarray(values[first:last]), sigma, smooth)
        out[start:end] = smooth[start - first : end - first]


def _smooth_blocks(values: Floats, sigma: float, out: Floats) -> None:
    """The same within a thousandth of the curve's extent: a block is a small fraction of the kernel's width."""
    size = int(sigma // _BLOCKS_PER_SIGMA)
    starts = np.arange(0, len(values), size)
    finite = np.isfinite(values)
    sums = np.add.reduceat(np.where(finite, values, 0.0), starts)
    checkpoint()
    counts = np.add.reduceat(finite.astype(np.float64), starts)
    reach = math.ceil(_REACH_SIGMAS * sigma / size)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * size / sigma) ** 2)
    with np.errstate(all="ignore"):
        levels = _same_convolution(sums, kernel) / _same_convolution(counts, kernel)
    checkpoint()
    middles = starts + (np.minimum(starts + size, len(values)) - 1 - starts) / 2
    known = np.isfinite(levels)
    smooth = np.interp(np.arange(len(values)), middles[known], levels[known]) if known.any() else values
    out[:] = np.where(finite, smooth, values)


def _same_convolution(numbers: Floats, kernel: Floats) -> Floats:
    reach = len(kernel) // 2
    return np.convolve(numbers, kernel)[reach : reach + len(numbers)]
