"""Best checkpoint missed: the best evaluation was long ago."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number, percent


@detector(id="best-checkpoint-missed", reads="val.loss")
def best_checkpoint_missed(case: Case) -> Iterator[Finding]:
    """Far back in the run, and clearly better than the last."""
    track = case.need("val.loss", points=6)
    steps, values = track.points()
    best = int(np.argmin(values))
    span = int(steps[-1] - steps[0])
    if span <= 0:
        return
    back, limit = float(steps[-1] - steps[best]) / span, case.limit("best-checkpoint-missed", "share_of_run")
    worse = (float(values[-1]) - float(values[best])) / max(abs(float(values[best])), 1e-12)
    if back < limit or worse < case.limit("best-checkpoint-missed", "worse"):
        return
    yield case.finding(
        "best-checkpoint-missed",
        "info",
        track,
        f"{track.tag} was best at step {steps[best]:,} ({number(float(values[best]))}); the last one is "
        f"{percent(worse)} worse.",
        first_step=int(steps[best]),
        evidence=[Evidence(track.tag, "share of the run since the best", back, limit, int(steps[best]))],
    )
