"""Mask ratio shift: the mask ratio changed abruptly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import stride_steps
from pulseboard.diagnose.stats.noise import noise_scale


@detector(id="mask-ratio-shift", reads="mask.ratio")
def mask_ratio_shift(case: Case) -> Iterator[Finding]:
    """The step that best splits the series into two levels, if they differ by much more than the noise."""
    ratio = case.need("mask.ratio", points=8)
    steps, values = ratio.points(most=512)
    n = len(values)
    if n < 8:
        return
    sums = np.cumsum(values)
    cuts = np.arange(3, n - 2)
    before, after = sums[cuts - 1] / cuts, (sums[-1] - sums[cuts - 1]) / (n - cuts)
    gain = (before - after) ** 2 * cuts * (n - cuts)
    at = int(cuts[int(np.argmax(gain))])
    shift = float(np.median(values[at:]) - np.median(values[:at]))
    noise = max(noise_scale(values[:at]), noise_scale(values[at:]), 1e-6)
    errors = abs(shift) / (noise * np.sqrt(1 / at + 1 / (n - at)))
    limit = case.limit("mask-ratio-shift", "shift")
    if abs(shift) < limit or errors < case.limit("mask-ratio-shift", "errors"):
        return
    if case.explained_by(int(steps[at]), within_steps=int(4 * stride_steps(ratio))) is not None:
        return
    yield case.finding(
        "mask-ratio-shift",
        "warning",
        ratio,
        f"{ratio.tag} changed from {np.median(values[:at]):.2f} to {np.median(values[at:]):.2f} at step {steps[at]:,}.",
        first_step=int(steps[at]),
        evidence=[Evidence(ratio.tag, "change", abs(shift), limit, int(steps[at]))],
    )
