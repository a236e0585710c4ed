"""MoE router collapse: the router sends every token to the same experts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number


@detector(id="moe-router-collapse", reads="moe.entropy")
def moe_router_collapse(case: Case) -> Iterator[Finding]:
    """Entropy far below that of a uniform choice, or below its first value if the number of experts is unknown."""
    limit = case.limit("moe-router-collapse", "share")
    for track in case.every("moe.entropy"):
        steps, values = track.points(most=512)
        if len(values) < 5:
            continue
        experts = case.context.experts
        whole = math.log(experts) if experts and experts > 1 else float(np.median(values[:3]))
        last = float(np.median(values[-3:]))
        if whole <= 0 or last >= limit * whole:
            continue
        yield case.finding(
            "moe-router-collapse",
            "critical",
            track,
            f"{track.tag} is down to {number(last)} (a uniform choice has {number(whole)}): every token goes to the "
            "same experts.",
            first_step=int(steps[int(np.argmax(values < limit * whole))]),
            evidence=[Evidence(track.tag, "entropy relative to a uniform choice", last / whole, limit, int(steps[-1]))],
        )
        return
