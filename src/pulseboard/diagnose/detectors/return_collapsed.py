"""Return collapsed: a policy that had learned has lost it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.statistics.noise import noise_scale, running_median


@detector(id="return-collapsed", reads="rl.return")
def return_collapsed(case: Case) -> Iterator[Finding]:
    """The return fell from its best by most of what it had gained, and has not come back."""
    # Episodes of training and of evaluation may both be logged: the longer series tells more.
    track = max(case.every("rl.return"), key=lambda track: track.finite_count)
    if track.finite_count < (least := case.limit("return-collapsed", "points")):
        raise TooShort(f"{track.tag!r} has {track.finite_count} of the {least:.0f} points this needs")
    steps, values = track.points(most=512)
    level = running_median(values, max(3, len(values) // 40))
    start, best = float(np.median(values[:3])), int(np.argmax(level))
    gained, now = float(level[best]) - start, float(np.median(values[-max(3, len(values) // 20) :]))
    if gained <= case.limit("return-collapsed", "noise_widths") * noise_scale(values):
        return
    kept, limit = (now - start) / gained, case.limit("return-collapsed", "share")
    if kept >= limit:
        return
    after = level[best:]
    first = best + int(np.argmax(after < start + limit * gained))
    kl = case.one("rl.kl")
    moved = f" {kl.tag} reached {kl.high:.3g} in that time." if kl is not None and kl.high > 1.0 else ""
    yield case.finding(
        "return-collapsed",
        "warning",
        track,
        f"{track.tag} was {level[best]:.4g} at step {steps[best]} and is {now:.4g} now: what was learned is "
        f"lost.{moved}",
        first_step=int(steps[first]),
        evidence=[Evidence(track.tag, "share of the gain that is kept", kept, limit, int(steps[-1]))],
    )
