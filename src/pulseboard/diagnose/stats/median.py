"""Medians as NumPy has them, without most of its overhead: a live run needs hundreds of them a second."""

from __future__ import annotations

from bisect import insort

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def median(values: Floats) -> float:
    """The same as `np.median` of a one-dimensional array; NaN for an empty one."""
    n = len(values)
    if n == 0:
        return float("nan")
    half = n // 2
    ordered = np.partition(values, (half, n - 1))
    if np.isnan(ordered[-1]):  # NaN comes last
        return float("nan")
    middle = float(ordered[half])
    return middle if n % 2 else (float(ordered[:half].max()) + middle) / 2


def prefix_medians(values: Floats, count: int) -> list[float]:
    """The medians of the first 1, 2, ... `count` values, which must not be NaN."""
    ordered: list[float] = []
    found = []
    for value in values[:count].tolist():
        insort(ordered, value)
        half = len(ordered) // 2
        found.append(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)
    return found


def window_medians(values: Floats, width: int) -> Floats:
    """The median of every `width` neighboring values, which must not be NaN; `width` is at most their number."""
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    half = width // 2
    ordered = np.partition(windows, half if width % 2 else (half - 1, half), axis=1)
    found: Floats = ordered[:, half] if width % 2 else (ordered[:, half - 1] + ordered[:, half]) / 2
    return found
