"""Learning rate horizon off: the schedule ends long before or long after the training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.track import Floats


@detector(id="lr-horizon-off", reads="lr")
def lr_horizon_off(case: Case) -> Iterator[Finding]:
    """A decaying schedule that reaches its floor early, or that the run does not finish."""
    rate = case.need("lr", points=10)
    steps, values = rate.points(most=1024)
    top, last = float(values.max()), int(steps[-1])
    peak_at = int(np.argmax(values))
    whole = case.planned_steps or (last if case.finished else None)
    after = values[peak_at:]
    if whole is None or top <= 0 or len(after) < 8:
        return
    floor = float(after.min())
    falls = np.diff(after) < -1e-6 * top
    # Only smooth schedules have a horizon; constant ones and step schedules do not.
    if falls.sum() < 5 or (np.diff(after) > 1e-3 * top).any() or _by_steps(after, top):
        return
    reached = int(steps[peak_at + int(np.argmax(after <= floor + 1e-3 * top))])
    early = case.limit("lr-horizon-off", "floor_before")
    if (
        case.planned_steps is not None
        and reached < early * whole
        and last >= 0.9 * early * whole
        and reached < last - 0.1 * whole
    ):
        yield case.finding(
            "lr-horizon-off",
            "warning",
            rate,
            f"{rate.tag} reached its floor ({floor:.3g}) at step {reached}, after {100 * reached / whole:.0f} % of "
            "the training.",
            first_step=reached,
            evidence=[Evidence(rate.tag, "share of the training when the floor is reached", reached / whole, early)],
        )
        return
    high = case.limit("lr-horizon-off", "still_above")
    # A run that stopped early is a different matter: the plan must be finished.
    if case.planned_steps and case.finished and last >= 0.98 * case.planned_steps and values[-1] > high * top:
        yield case.finding(
            "lr-horizon-off",
            "warning",
            rate,
            f"{rate.tag} is still at {100 * values[-1] / top:.0f} % of its peak at the end of the plan.",
            first_step=last,
            evidence=[Evidence(rate.tag, "last value relative to the peak", float(values[-1]) / top, high, last)],
        )


def _by_steps(values: Floats, top: float) -> bool:
    """Whether the rate falls in a few large steps."""
    falls = -np.diff(values)
    return bool(np.sort(falls)[-3:].sum() > 0.5 * float(values[0] - values[-1]) and len(falls) > 20)
