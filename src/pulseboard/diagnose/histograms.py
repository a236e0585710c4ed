"""What histograms of weights and gradients show that scalars do not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pulseboard.core.histogram import Histogram
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.roles.words import words_of

_WEIGHTS = frozenset({"parameters", "parameter", "weights", "weight", "params"})
_GRADIENTS = frozenset({"gradients", "gradient", "grad", "grads"})


def of_weights(case: Case) -> Iterator[tuple[str, Sequence[Histogram]]]:
    """Histograms of parameters, by tag."""
    for tag, histograms in case.histograms.items():
        words = set(words_of(tag).every)
        if words & _WEIGHTS and not words & _GRADIENTS:
            yield tag, histograms


def of_gradients(case: Case) -> Iterator[tuple[str, Sequence[Histogram]]]:
    """Histograms of gradients, by tag."""
    for tag, histograms in case.histograms.items():
        if set(words_of(tag).every) & _GRADIENTS:
            yield tag, histograms


def same(a: Histogram, b: Histogram) -> bool:
    """Whether two histograms have exactly the same buckets and counts."""
    return (
        len(a.counts) == len(b.counts)
        and np.array_equal(a.counts, b.counts)
        and np.array_equal(a.lefts, b.lefts)
        and np.array_equal(a.rights, b.rights)
    )


def root_mean_square(histogram: Histogram) -> float:
    """The size of a typical value; NaN if the histogram is empty."""
    if histogram.num and histogram.sum_squares is not None:
        return math.sqrt(max(0.0, histogram.sum_squares / histogram.num))
    total = float(histogram.counts.sum())
    if total <= 0:
        return math.nan
    middles = 0.5 * (histogram.lefts + histogram.rights)
    return math.sqrt(float((histogram.counts * middles**2).sum()) / total)


def humps(histogram: Histogram) -> int:
    """How many separate modes a histogram has: 2 if the counts drop far between two peaks."""
    counts = histogram.counts
    if len(counts) < 8 or counts.sum() < 100:
        return 1
    low, high = float(histogram.lefts[0]), float(histogram.rights[-1])
    if not math.isfinite(high - low) or high <= low:
        return 1
    # Buckets differ in width: count over an even grid, coarse enough for the number of values to fill it.
    cells = int(np.clip(math.sqrt(counts.sum()), 8, 40))
    edges_of_buckets = np.ravel([histogram.lefts, histogram.rights], order="F")
    up_to = np.concatenate([[0.0], np.cumsum(counts)])
    counted = np.interp(np.linspace(low, high, cells + 1), edges_of_buckets, np.repeat(up_to, 2)[1:-1])
    density = np.convolve(np.diff(counted), np.ones(3) / 3, mode="same")
    peak = float(density.max())
    above = density > 0.3 * peak
    edges = np.flatnonzero(np.diff(np.concatenate([[False], above, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    apart = [float(density[end:start].min()) for end, start in zip(ends[:-1], starts[1:], strict=True) if start > end]
    return 1 + sum(valley < 0.1 * peak for valley in apart)
