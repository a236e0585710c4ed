"""Weights shrinking: the norm of all parameters falls far below where it began."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="weights-shrinking", reads="parameter.norm")
def weights_shrinking(case: Case) -> Iterator[Finding]:
    """Below a share of its first value at the end of what was logged."""
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
        f"{norm.tag} has fallen to {now / start:.2f} of what it was at the start ({start:.4g} to {now:.4g}).",
        first_step=first,
        evidence=[Evidence(norm.tag, "norm over its first value", now / start, limit, int(steps[-1]))],
    )
