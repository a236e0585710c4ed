"""Step time periodic: every so many steps one takes far longer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="step-time-periodic", reads="time.step")
def step_time_periodic(case: Case) -> Iterator[Finding]:
    """Slow steps at a fixed distance that cost a share of the whole time."""
    time = case.need("time.step", points=64)
    steps, values = time.points() if time.block_points == 1 else time.tail
    values = values.copy()
    usual = float(np.median(values))
    slow = np.flatnonzero(values > case.limit("step-time-periodic", "times") * usual)
    if usual <= 0 or len(slow) < 4:
        return
    gaps = np.diff(steps[slow])
    rhythm = float(np.median(gaps))
    if rhythm < 2 or float((np.abs(gaps - rhythm) <= 0.05 * rhythm + 1).mean()) < 0.8:
        return
    cost = float((values[slow] - usual).sum() / values.sum())
    limit = case.limit("step-time-periodic", "cost")
    if cost < limit:
        return
    yield case.finding(
        "step-time-periodic",
        "info",
        time,
        f"Every {rhythm:.0f} steps one takes {np.median(values[slow]) / usual:.1f} times as long: "
        f"{100 * cost:.0f} % of the time.",
        first_step=int(steps[slow[0]]),
        evidence=[Evidence(time.tag, "share of the time that slow steps cost", cost, limit)],
    )
