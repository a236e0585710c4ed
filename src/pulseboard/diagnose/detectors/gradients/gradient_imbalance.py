"""Gradient imbalance: some layers get gradients a thousand times smaller than others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.histograms import of_gradients, root_mean_square
from pulseboard.diagnose.phrases import number, times


@detector(id="gradient-imbalance", reads="gradient.layers|histograms")
def gradient_imbalance(case: Case) -> Iterator[Finding]:
    """Compare the medians of all layers over the second half of the run. EMA targets get no gradient by design."""
    targets = {track.tag for track in case.every("gradient.target")}
    levels: dict[str, float] = {}
    for track in case.every("gradient.layers"):
        if track.tag in targets or track.finite_count < 3:
            continue
        values = track.points(most=128).values
        levels[track.tag] = float(np.median(values[len(values) // 2 :]))
    if not levels:
        levels = {
            tag: float(np.median([root_mean_square(one) for one in found[-3:]]))
            for tag, found in of_gradients(case)
            if len(found) >= 3 and "bias" not in tag
        }
    levels = {tag: level for tag, level in levels.items() if level > 0}
    if len(levels) < 2:
        return
    weakest, strongest = min(levels, key=lambda t: levels[t]), max(levels, key=lambda t: levels[t])
    decades = float(np.log10(levels[strongest] / levels[weakest]))
    limit = case.limit("gradient-imbalance", "decades")
    if decades < limit:
        return
    yield case.finding(
        "gradient-imbalance",
        "warning",
        weakest,
        f"{weakest} is {number(levels[weakest])} while {strongest} is {number(levels[strongest])}, "
        f"{times(levels[strongest] / levels[weakest])} as large.",
        evidence=[Evidence(weakest, "powers of ten between the strongest and the weakest layer", decades, limit)],
    )
