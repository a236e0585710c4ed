"""Policy update too large: single updates move the policy too far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.returns import earns_well
from pulseboard.diagnose.facts.scores import scale_of
from pulseboard.diagnose.phrases import number, percent

SLUG = "policy-update-too-large"


@detector(id=SLUG, reads="rl.kl")
def policy_update_too_large(case: Case) -> Iterator[Finding]:
    """A usual update far beyond what such methods allow, or several that replaced the policy by another one."""
    track = case.need("rl.kl", points=int(case.limit(SLUG, "points")))
    steps, values = track.points(most=512)
    usual, share = float(np.median(values)), float((values >= case.limit(SLUG, "replaced")).mean())
    several = share >= case.limit(SLUG, "share") and (values >= case.limit(SLUG, "replaced")).sum() >= 2
    clipped = case.one("rl.clipped")
    level = None
    if clipped is not None and clipped.finite_count:
        level = float(np.median(clipped.points(most=512).values)) * scale_of(clipped)
    # Where most actions are clipped, half as large an update says the same.
    limit = case.limit(SLUG, "usual") * (0.5 if level is not None and level >= case.limit(SLUG, "mostly") else 1.0)
    if usual < limit and not several:
        return
    if not several and level is not None and level < case.limit(SLUG, "clipped"):
        return
    what = (
        f"{percent(share)} of the updates moved it by {number(case.limit(SLUG, 'replaced'))} or more, up to "
        f"{number(track.high)}"
        if several
        else f"its median is {number(usual)}"
    )
    yield case.finding(
        SLUG,
        # A policy that works in spite of it is worth a note.
        "info" if earns_well(case) else "warning",
        track,
        f"{track.tag} (how far an update moves the policy) should be about 0.01, but {what}.",
        first_step=int(steps[int(np.argmax(values >= limit))]),
        evidence=[Evidence(track.tag, "median", usual, limit, int(steps[-1]))],
    )
