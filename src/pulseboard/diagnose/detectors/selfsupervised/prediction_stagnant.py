"""Prediction stagnant: predictions stopped improving early and are not yet good."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points


@detector(id="prediction-stagnant", reads="prediction.cosine")
def prediction_stagnant(case: Case) -> Iterator[Finding]:
    """No rise over the second half, below a good value. Info: the normal rate of improvement depends on the task."""
    limit = case.limit("prediction-stagnant", "cosine")
    for track in case.every("prediction.cosine"):
        if track.finite_count < 16:
            continue
        steps, values = track.points(most=256)
        half = len(values) // 2
        line = trend(Points(steps[half:], values[half:]))
        level = float(np.median(values[-max(3, len(values) // 8) :]))
        if line is None or level >= limit or line.p_rising < 1e-3:
            continue
        yield case.finding(
            "prediction-stagnant",
            "info",
            track,
            f"{track.tag} has not improved since step {steps[half]:,} and is about {level:.2f}; good predictions are "
            f"above {limit:g}.",
            first_step=int(steps[half]),
            evidence=[Evidence(track.tag, "latest value", level, limit, int(steps[-1]), on_curve=True)],
        )
        return
