"""Loss oscillating: the loss goes up and down with a fixed period."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.objective import loss_course
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.stats.period import period
from pulseboard.diagnose.track import Points


@detector(id="loss-oscillating", reads="train.loss")
def loss_oscillating(case: Case) -> Iterator[Finding]:
    """A peak in the spectrum far above its surroundings; a warning if the swing is large."""
    loss = case.need("train.loss", points=96)
    steps, values = loss.points(most=2048)
    later = _undisturbed(case, steps)
    rhythm = period(Points(steps[later], values[later]))
    if rhythm is None or rhythm.strength < case.limit("loss-oscillating", "strength"):
        return
    if rhythm.share < case.limit("loss-oscillating", "share"):
        return
    level = float(np.median(np.abs(values)))
    # A swing matters if it is large relative to the level and to what was learned.
    found = loss_course(case).value
    scale = max(level, found.gain if found is not None else 0.0)
    swing = rhythm.swing / scale if scale else 0.0
    if swing < case.limit("loss-oscillating", "swing"):
        return
    yield case.finding(
        "loss-oscillating",
        "warning" if swing >= case.limit("loss-oscillating", "severe_swing") and not may_rise(case) else "info",
        loss,
        f"{loss.tag} swings by {100 * swing:.0f} % of its level every {rhythm.steps:.0f} steps.",
        evidence=[
            Evidence(loss.tag, "spectrum peak relative to its surroundings", rhythm.strength, None),
            Evidence(loss.tag, "swing as a share of the level", swing, case.limit("loss-oscillating", "swing")),
        ],
    )


def _undisturbed(case: Case, steps: NDArray[Any]) -> NDArray[Any]:
    """The steps in the longest range after warm-up without a declared change: one bump is not a period."""
    changes = [event.step for event in case.events if event.declared and event.step > case.warm_up_step]
    bounds = [case.warm_up_step, *changes, int(steps[-1]) + 1]
    stretches = [(steps > a) & (steps < b) for a, b in pairwise(bounds)]
    return max(stretches, key=lambda inside: int(inside.sum()))
