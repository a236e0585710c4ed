"""EMA magnitude mismatch: the weights of the target and the trained network differ in size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number


@detector(id="ema-magnitude-mismatch", reads="ema.ratio")
def ema_magnitude_mismatch(case: Case) -> Iterator[Finding]:
    """The ratio of their weight norms is outside its range in the last measurements."""
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
        f"{ratio.tag} is {number(level)}; the weights of both networks should be about the same size ({low:g} to "
        f"{high:g}).",
        first_step=int(steps[int(np.argmax(outside))]),
        evidence=[
            Evidence(
                ratio.tag,
                "ratio of the weight norms",
                level,
                low if level < low else high,
                int(steps[-1]),
                on_curve=True,
            )
        ],
    )
