"""Return collapsed: a policy lost what it had learned."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.returns import main_return
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.stats.course import centered_median, course
from pulseboard.diagnose.track import Points

SLUG = "return-collapsed"
_SURE = 6.0  # standard errors


@detector(id=SLUG, reads="rl.return")
def return_collapsed(case: Case) -> Iterator[Finding]:
    """The return lost most of its improvement and has not recovered."""
    track = main_return(case, points=int(case.limit(SLUG, "points")))
    steps, values = track.points(most=512)
    found = course(Points(steps, -values))
    assert found is not None
    limit = case.limit(SLUG, "share")
    kept = (found.start - found.end) / found.gain if found.gain > 0 else 0.0
    # Lost what it gained, or worse than at the start: either way the fall must be far beyond the noise.
    gained = found.gain > case.limit(SLUG, "noise_widths") * found.noise or found.end - found.start > max(
        8 * found.error, found.noise
    )
    # Less may be lost where it is beyond doubt.
    if found.surprise >= 2 * _SURE and found.stays_up >= 0.7 * found.rise:
        limit = case.limit(SLUG, "sure_share")
    if kept >= limit or not gained or found.rise < 2 * found.noise or found.surprise < _SURE:
        return
    if found.stays_up < 0.4 * found.rise or found.rise < case.limit(SLUG, "fall") * max(
        abs(found.best), abs(found.end)
    ):
        return
    level = -centered_median(values, found.width)
    near = np.flatnonzero(level <= found.best + (1 - limit) * found.rise)
    first = int(steps[int(near[-1])]) if len(near) else found.best_step
    kl = case.one("rl.kl")
    moved = f" {kl.tag} reached {number(kl.high)}." if kl is not None and kl.high > 1.0 else ""
    yield case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} was {number(-found.best)} at step {found.best_step} and is now {number(-found.end)}: the policy "
        f"lost most of what it had learned.{moved}",
        first_step=first,
        evidence=[Evidence(track.tag, "share of the gain that is left", kept, limit, int(steps[-1]))],
    )
