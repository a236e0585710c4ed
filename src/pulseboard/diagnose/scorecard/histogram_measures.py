"""Measures of histograms of weights and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pulseboard.core.histogram import Histogram
from pulseboard.diagnose.histograms import humps, root_mean_square, same

Kept = Sequence[Histogram]


def _peaks(kept: Kept) -> float:
    return float(humps(kept[-1]))


def _tail(kept: Kept) -> float:
    """The largest value over the usual size: about 4 for a bell of 10,000 values."""
    newest = kept[-1]
    size = root_mean_square(newest)
    if not len(newest.counts) or not size > 0:
        return math.nan
    return max(abs(float(newest.lefts[0])), abs(float(newest.rights[-1]))) / size


def _zeros(kept: Kept) -> float:
    """The share of values within a tenth of the usual size, as far as the buckets are fine enough to see it."""
    newest = kept[-1]
    total, size = float(newest.counts.sum()), root_mean_square(newest)
    if total <= 0:
        return math.nan
    near = np.maximum(np.abs(newest.lefts), np.abs(newest.rights)) <= 0.1 * size
    return float(newest.counts[near].sum()) / total if size > 0 else 1.0


def _size(kept: Kept) -> float:
    return root_mean_square(kept[-1])


def _size_growth(kept: Kept) -> float:
    first, last = root_mean_square(kept[0]), root_mean_square(kept[-1])
    return last / first if first > 0 and len(kept) > 1 else math.nan


def _unchanged(kept: Kept) -> float:
    """1 if the newest two histograms are the same, 0 otherwise."""
    return float(same(kept[-2], kept[-1])) if len(kept) > 1 else math.nan


HISTOGRAM_MEASURES: dict[str, Callable[[Kept], float]] = {
    "peaks": _peaks,
    "tail": _tail,
    "zeros": _zeros,
    "size": _size,
    "size growth": _size_growth,
    "unchanged": _unchanged,
}
