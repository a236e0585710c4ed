"""Weights shrinking: the parameter norm falls far below its first value."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number, percent


@detector(id="weights-shrinking", reads="parameter.norm")
def weights_shrinking(case: Case) -> Iterator[Finding]:
    """The latest value is below a share of the first."""
    norm = case.need("parameter.norm", points=5)
    steps, values = norm.points(most=512)
    start, now = float(values[0]), float(values[-1])
    limit = case.limit("weights-shrinking", "share")
    if start <= 0 or now >= limit * start:
        return
    first = int(steps[int(np.argmax(values < limit * start))])
    yield case.finding(
        "weights-shrinking",
        "warning",
        norm,
        f"{norm.tag} has fallen from {number(start)} to {number(now)}, {percent(now / start)} of its first value.",
        first_step=first,
        evidence=[Evidence(norm.tag, "norm relative to its first value", now / start, limit, int(steps[-1]))],
    )
