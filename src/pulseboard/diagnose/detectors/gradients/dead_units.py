"""Dead units: units that are never active."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.core.histogram import Histogram
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import count, percent
from pulseboard.diagnose.roles.words import words_of

_LOOKED_AT = frozenset({"activation", "activations", "relu", "gradients", "gradient", "grad"})
# Rows for tokens that no batch contained get no gradient, but are not dead.
_LOOKED_UP = frozenset({"embed", "embedding", "embeddings", "embedder", "emb", "wte", "wpe"})


@detector(id="dead-units", reads="dead.units|histograms")
def dead_units(case: Case) -> Iterator[Finding]:
    """From shares that hooks measured, and from histograms of activations and gradients that are mostly zeros."""
    limit, severe = case.limit("dead-units", "share"), case.limit("dead-units", "severe_share")
    shares = {}
    for track in case.every("dead.units"):
        values = track.points(most=256).values
        if len(values) >= 3:
            shares[track.tag] = float(np.median(values[-5:])) / (100.0 if track.high > 1.0 else 1.0)
    for tag, histograms in case.histograms.items():
        words = words_of(tag).rest
        if words & _LOOKED_AT and not words & _LOOKED_UP and histograms:
            share = min(_zeros(one) for one in histograms[-3:])
            if len(histograms) >= 2:
                shares[tag] = share
    if not shares:
        return
    worst = max(shares, key=lambda tag: shares[tag])
    if shares[worst] <= limit:
        return
    many = sum(share > limit for share in shares.values())
    yield case.finding(
        "dead-units",
        "critical" if shares[worst] > severe and many > len(shares) / 2 else "warning",
        worst,
        f"{percent(shares[worst])} of the units in {worst} are dead"
        + (f", and {count(many - 1, 'other layer')} {'is' if many == 2 else 'are'} affected too." if many > 1 else "."),
        evidence=[Evidence(worst, "share of units that are never active", shares[worst], limit)],
    )


def _zeros(histogram: Histogram) -> float:
    """The share of values at exactly zero, as far as the buckets show."""
    total = float(histogram.counts.sum())
    if total <= 0 or not len(histogram.counts):
        return 0.0
    width = np.abs(histogram.rights - histogram.lefts)
    span = float(histogram.rights[-1] - histogram.lefts[0])
    if span <= 0:
        return 1.0 if histogram.lefts[0] == 0 else 0.0
    at_zero = (histogram.lefts <= 0) & (histogram.rights >= 0) & (width < 1e-6 * span)
    return float(histogram.counts[at_zero].sum()) / total
