"""Step time periodic: every so many steps one takes far longer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.track import Ints


@detector(id="step-time-periodic", reads="time.step")
def step_time_periodic(case: Case) -> Iterator[Finding]:
    """Slow steps at a fixed distance that cost a share of the whole time."""
    time = case.need("time.step", points=64)
    steps, values = time.points() if time.block_points == 1 else time.tail
    usual = float(np.median(values))
    slow = values > case.limit("step-time-periodic", "times") * usual
    if usual <= 0 or slow.sum() < 4:
        return
    rhythm, at = _rhythm(steps, slow)
    if at is None:
        return
    cost = float((values[at] - usual).sum() / values.sum())
    limit = case.limit("step-time-periodic", "cost")
    if cost < limit:
        return
    yield case.finding(
        "step-time-periodic",
        "warning" if cost >= case.limit("step-time-periodic", "grave_cost") else "info",
        time,
        f"Every {rhythm} steps one takes {np.median(values[at]) / usual:.1f} times as long: "
        f"{100 * cost:.0f} % of the time.",
        first_step=int(steps[at[0]]),
        evidence=[Evidence(time.tag, "share of the time that slow steps cost", cost, limit)],
    )


def _rhythm(steps: Ints, slow: NDArray[np.bool_]) -> tuple[int, Ints | None]:
    """The commonest distance between slow steps, and the points at it, where they are slow and the others are not."""
    places = steps[slow]
    gaps, counts = np.unique(np.diff(places), return_counts=True)
    usable = gaps >= 4
    if not usable.any():
        return 0, None
    rhythm = int(gaps[usable][np.argmax(counts[usable])])
    phases, counts = np.unique(places % rhythm, return_counts=True)
    on = steps % rhythm == phases[np.argmax(counts)]
    if on.sum() < 4 or slow[on].mean() < 0.8 or slow[~on].mean() > 0.2:
        return rhythm, None
    return rhythm, np.flatnonzero(on & slow)
