"""Learning rate horizon off: the schedule ends long before or long after the training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.track import Floats, Points, Track

SLUG = "lr-horizon-off"
# Points of the loss before and after a cut of the rate.
_LEAST_BEFORE, _LEAST_AFTER = 4, 9


@detector(id=SLUG, reads="lr")
def lr_horizon_off(case: Case) -> Iterator[Finding]:
    """A decaying schedule that reaches its floor early, or that the run does not finish."""
    rate = case.need("lr", points=10)
    cut = _cut_early(case, rate)
    if cut is not None:
        yield cut
        return
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
            f"{rate.tag} reached its floor ({floor:.3g}) at step {reached:,}, after {100 * reached / whole:.0f} % of "
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


def _cut_early(case: Case, rate: Track) -> Finding | None:
    """A rate that was cut in the first half of the run while the loss was falling, which ended the fall.

    A cut in time makes the loss fall faster at first. One that comes too early slows it down at once.
    """
    curve = objective(case).value
    if curve is None or not case.finished or may_rise(case):
        return None
    steps, values = rate.points(most=1024)
    low = case.limit(SLUG, "cut") * float(values.max())
    below = np.flatnonzero(values > low)
    if not len(below) or below[-1] + 1 >= len(values):
        return None
    at, first, last = int(steps[below[-1] + 1]), int(curve.points.steps[0]), int(curve.points.steps[-1])
    if at <= first or at - first > case.limit(SLUG, "cut_before") * (last - first):
        return None
    before, after = _falls_around(curve.points, at)
    level, start = _level_at(curve.points, at), float(np.median(curve.points.values[:3]))
    # Near its end, a loss slows down on its own.
    if level < case.limit(SLUG, "much_left") * start:
        return None
    if before < case.limit(SLUG, "was_falling") * abs(level) or after > case.limit(SLUG, "falls_on") * before:
        return None
    whole = loss_course(case).value
    if whole is None or before < case.limit(SLUG, "noise") * whole.noise:
        return None
    return case.finding(
        SLUG,
        "warning",
        rate,
        f"{rate.tag} fell below {percent(case.limit(SLUG, 'cut'))} of its peak at step {at:,}, after "
        f"{percent((at - first) / (last - first))} of the run, while {curve} was still falling: by {number(before)} "
        f"just before, and by only {number(max(0.0, after))} since.",
        first_step=at,
        evidence=[
            Evidence(
                curve.tag, "fall after the cut relative to that before", after / before, case.limit(SLUG, "falls_on")
            )
        ],
    )


def _falls_around(points: Points, step: int) -> tuple[float, float]:
    """How far a loss fell in the last third of the time before a step (all of it if short), and ever since."""
    steps, values = points
    n = int((steps <= step).sum())
    if n < _LEAST_BEFORE or len(steps) - n < _LEAST_AFTER:
        return 0.0, 0.0
    begin = int(steps[0]) + (step - int(steps[0])) * 2 // 3
    later = _level_at(points, step)
    earlier = _level_at(points, begin) if n >= _LEAST_AFTER else float(values[0])
    return earlier - later, later - float(np.median(values[-max(3, len(values) // 10) :]))


def _level_at(points: Points, step: int) -> float:
    """The median of the few points before a step."""
    end = max(1, int(np.searchsorted(points.steps, step, "right")))
    width = 1 if len(points.values) < 24 else max(3, len(points.values) // 20)
    return float(np.median(points.values[max(0, end - width) : end]))
