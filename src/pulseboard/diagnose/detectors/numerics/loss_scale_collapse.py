"""Loss scale collapse: mixed precision keeps halving its loss scale and never recovers it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number


@detector(id="loss-scale-collapse", reads="amp.loss_scale")
def loss_scale_collapse(case: Case) -> Iterator[Finding]:
    """Several halvings without a rise, the last of them recent; or a scale at its floor."""
    scale = case.need("amp.loss_scale", points=3)
    steps, values = scale.points()
    least = case.limit("loss-scale-collapse", "halvings")
    floor = case.limit("loss-scale-collapse", "floor")
    rises = np.flatnonzero(np.diff(values) > 0)
    start = int(rises[-1]) + 1 if len(rises) else 0
    fall = values[start:]
    halvings = float(np.log2(fall[0] / fall[-1])) if fall[-1] > 0 else float("inf")
    falls = np.flatnonzero(np.diff(fall) < 0)
    # A scaler starts high and comes down in the first steps: only a continuing fall is a collapse.
    lately = len(falls) > 0 and (start + int(falls[-1]) + 1) >= 0.8 * len(values)
    at_floor = values[-1] <= floor < values.max()
    if not (halvings >= least and lately) and not at_floor:
        return
    first = int(steps[start + int(falls[0])]) if len(falls) else int(steps[start])
    yield case.finding(
        "loss-scale-collapse",
        "critical",
        scale,
        f"{scale.tag} fell from {number(fall[0])} to {number(fall[-1])} without recovering: gradients overflow at "
        "almost every step.",
        first_step=first,
        evidence=[Evidence(scale.tag, "halvings without a rise", halvings, least, int(steps[-1]))],
    )
