"""EMA magnitude mismatch: target and trained network are not of one size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="ema-magnitude-mismatch", reads="ema.ratio")
def ema_magnitude_mismatch(case: Case) -> Iterator[Finding]:
    """The ratio of their norms outside of its range, by its last measurements."""
    ratio = case.need("ema.ratio", points=3)
    steps, values = ratio.points(most=256)
    level = float(np.median(values[-3:]))
    low, high = case.limit("ema-magnitude-mismatch", "low"), case.limit("ema-magnitude-mismatch", "high")
    if low <= level <= high:
        return
    outside = (values < low) | (values > high)
    yield case.finding(
        "ema-magnitude-mismatch",
        "warning",
        ratio,
        f"{ratio.tag} is {level:.2f}; the two networks should be of one size ({low:g} to {high:g}).",
        first_step=int(steps[int(np.argmax(outside))]),
        evidence=[Evidence(ratio.tag, "ratio of the norms", level, low if level < low else high, int(steps[-1]))],
    )
