"""Learning rate zero: nothing is learned in these steps."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent


@detector(id="lr-zero", reads="lr")
def lr_zero(case: Case) -> Iterator[Finding]:
    """Exactly 0 for a share of the points, before the planned end."""
    rate = case.need("lr", points=5)
    zeros = rate.longest_streak
    if zeros is None or zeros.value != 0.0:
        return
    share, limit = zeros.length / len(rate), case.limit("lr-zero", "share")
    planned = case.planned_steps
    # Schedules that end at 0, and a few steps beyond, are as planned.
    at_the_end = planned is not None and zeros.first_step >= 0.98 * planned
    if share <= limit or zeros.length < 3 or at_the_end:
        return
    yield case.finding(
        "lr-zero",
        "critical",
        rate,
        f"{rate.tag} is exactly 0 from step {zeros.first_step:,} to {zeros.last_step:,}, {percent(share)} of the run.",
        first_step=zeros.first_step,
        last_step=zeros.last_step,
        evidence=[Evidence(rate.tag, "share of the run at 0", share, limit, zeros.first_step)],
    )
