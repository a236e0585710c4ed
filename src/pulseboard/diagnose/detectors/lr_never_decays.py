"""Learning rate never decays: it still rises where it should long be falling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="lr-never-decays", reads="lr")
def lr_never_decays(case: Case) -> Iterator[Finding]:
    """Still rising after a share of the plan, or of what has been run where no plan is known."""
    rate = case.need("lr", points=10)
    steps, values = rate.points(most=512)
    share, limit = 0.0, case.limit("lr-never-decays", "share_of_plan")
    top = float(values.max())
    if top <= 0 or len(values) < 10:
        return
    whole = case.planned_steps or int(steps[-1])
    rising = np.flatnonzero(np.diff(values) > 1e-6 * top)
    if not len(rising) or whole <= 0:
        return
    last_rise = int(rising[-1]) + 1
    share = float(steps[last_rise]) / whole
    # Rising up to now: a warm-up that is under way cannot be told from it without a plan.
    goes_on = last_rise >= len(values) - 2
    steady = (np.diff(values) >= -1e-9 * top).mean() > 0.95
    if not (goes_on and steady and share > limit):
        return
    if case.planned_steps is None and len(values) < case.limit("lr-never-decays", "points_without_plan"):
        return
    yield case.finding(
        "lr-never-decays",
        "warning",
        rate,
        f"{rate.tag} still rises at step {steps[-1]} ({values[0]:.3g} to {values[-1]:.3g}): "
        + (f"{100 * share:.0f} % of the plan." if case.planned_steps else "it has risen all along."),
        first_step=int(limit * whole),
        evidence=[Evidence(rate.tag, "share of the plan at which it still rises", share, limit, int(steps[-1]))],
    )
