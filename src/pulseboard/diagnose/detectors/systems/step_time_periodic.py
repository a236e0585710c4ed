"""Step time periodic: slow steps recur at a fixed interval."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, window_points
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent, times
from pulseboard.diagnose.stats.noise import running_median
from pulseboard.diagnose.track import Floats, Ints


@detector(id="step-time-periodic", reads="time.step")
def step_time_periodic(case: Case) -> Iterator[Finding]:
    """Slow steps at a fixed interval that cost a noticeable share of the time."""
    time = case.need("time.step", points=64)
    steps, values = time.points() if time.block_points == 1 else time.tail
    usual = float(np.median(values))
    # Compare with nearby steps: other load on the machine slows down many steps in a row, not single ones.
    around = _around(values, window_points(len(values)))
    slow = values - around > (case.limit("step-time-periodic", "times") - 1) * usual
    if usual <= 0 or slow.sum() < 4:
        return
    rhythm, at = _rhythm(steps, slow)
    if at is None:
        return
    cost = _cost_of_a_round(steps, values, values - around, rhythm=rhythm, at=at)
    limit = case.limit("step-time-periodic", "cost")
    if cost < limit:
        return
    yield case.finding(
        "step-time-periodic",
        "warning" if cost >= case.limit("step-time-periodic", "severe_cost") else "info",
        time,
        f"Every {rhythm} steps, one step takes {times(float(np.median(values[at] / around[at])))} as long as the "
        f"others; this costs {percent(cost)} of the training time.",
        first_step=int(steps[at[0]]),
        evidence=[Evidence(time.tag, "share of the training time lost to slow steps", cost, limit)],
    )


def _around(values: Floats, width: int) -> Floats:
    """The running median around each point."""
    behind = np.pad(values, (0, width // 2), mode="reflect")
    return running_median(behind, width)[width // 2 :]


def _cost_of_a_round(steps: Ints, values: Floats, more: Floats, *, rhythm: int, at: Ints) -> float:
    """The share of an interval's time that its slow step costs: the median, since other load slows some intervals."""
    rounds = (steps - steps[at[0]] - 1) // rhythm  # each interval ends with its slow step
    within = np.unique(rounds[at[0] : at[-1] + 1])
    shares = [max(0.0, more[rounds == one][-1]) / values[rounds == one].sum() for one in within]
    return float(np.median(shares))


def _rhythm(steps: Ints, slow: NDArray[np.bool_]) -> tuple[int, Ints | None]:
    """The most common interval between slow steps, and the slow steps on it; None if slow steps are elsewhere too."""
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
