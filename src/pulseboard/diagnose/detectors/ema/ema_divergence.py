"""EMA divergence: the target network drifts away from the trained network."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number, times
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points


@detector(id="ema-divergence", reads="ema.distance")
def ema_divergence(case: Case) -> Iterator[Finding]:
    """A distance many times its early value that is still rising in the second half of the run."""
    distance = case.need("ema.distance", points=8)
    steps, values = distance.points(most=256)
    some = values > 0
    if some.sum() < 8:
        return
    early, last = float(np.median(values[some][1:4])), float(np.median(values[-3:]))
    limit = case.limit("ema-divergence", "times")
    half = len(values) // 2
    line = trend(Points(steps[half:], values[half:]))
    rising = line is not None and line.p_rising < 1e-3
    if early <= 0 or last < limit * early or not rising:
        return
    yield case.finding(
        "ema-divergence",
        "warning",
        distance,
        f"{distance.tag} has grown from {number(early)} to {number(last)} ({times(last / early)}) and is still rising.",
        first_step=int(steps[int(np.argmax(values > limit * early))]),
        evidence=[Evidence(distance.tag, "distance relative to its early value", last / early, limit, int(steps[-1]))],
    )
