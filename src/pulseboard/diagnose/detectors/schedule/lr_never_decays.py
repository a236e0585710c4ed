"""Learning rate never decays: it is still rising when it should be falling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="lr-never-decays", reads="lr")
def lr_never_decays(case: Case) -> Iterator[Finding]:
    """Still rising after a share of the plan, or of the run so far if there is no plan."""
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
    # Rising until now. Without a plan it may simply be a warm-up in progress.
    goes_on = last_rise >= len(values) - 2
    steady = (np.diff(values) >= -1e-9 * top).mean() > 0.95
    if not (goes_on and steady and share > limit):
        return
    if case.planned_steps is None and len(values) < case.limit("lr-never-decays", "points_without_plan"):
        return
    # A small rise, or a possible warm-up in a run without a plan, is only info.
    mild = case.planned_steps is None or values[-1] < case.limit("lr-never-decays", "times") * max(values[0], 1e-300)
    yield case.finding(
        "lr-never-decays",
        "info" if mild else "warning",
        rate,
        f"{rate.tag} is still rising at step {steps[-1]:,} ({values[0]:.3g} to {values[-1]:.3g}), "
        + (f"{100 * share:.0f} % into the plan." if case.planned_steps else "and has been since the start."),
        first_step=int(limit * whole),
        evidence=[Evidence(rate.tag, "share of the plan when it is still rising", share, limit, int(steps[-1]))],
    )
