"""MoE router collapse: the router has made up its mind, the same for every token."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="moe-router-collapse", reads="moe.entropy")
def moe_router_collapse(case: Case) -> Iterator[Finding]:
    """Entropy below a share of that of an even choice, or of its own first level where the experts are not counted."""
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
            f"{track.tag} is {last:.3g}; an even choice has {whole:.3g}: every token goes to the same experts.",
            first_step=int(steps[int(np.argmax(values < limit * whole))]),
            evidence=[Evidence(track.tag, "entropy over that of an even choice", last / whole, limit, int(steps[-1]))],
        )
        return
