"""Learning rate jump: the schedule jumps in the middle of the run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pulseboard.core.finding import Evidence, Finding, Severity
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import stride_steps
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.track import Floats

# Points of a falling rate before a jump, if it jumps above its peak.
_LEAST_FALLING = 4
# A cycle ends below this share of its peak, and the next one has the same peak.
_SPENT, _SAME_PEAK = 0.02, 0.05


@detector(id="lr-jump", reads="lr")
def lr_jump(case: Case) -> Iterator[Finding]:
    """An undeclared jump up after warm-up, or a drop from which the schedule climbs back.

    Steps down are common schedules.
    """
    rate = case.need("lr", points=8)
    steps, values = rate.points()
    span = float(values.max() - values.min())
    if span <= 0:
        return
    limit = case.limit("lr-jump", "share_of_range")
    leaps = np.flatnonzero((np.diff(values) > limit * span) | _started_over(values, limit * span)) + 1
    # Where steps go back, another writer begins, with its own schedule.
    leaps = leaps[(steps[leaps] > max(case.warm_up_step, int(steps[0]))) & (steps[leaps] > steps[leaps - 1])]
    # Many jumps, or jumps at even intervals, are part of the schedule.
    if not len(leaps) or len(leaps) > 3 or _even(steps[leaps]):
        return
    near = max(1, int(4 * stride_steps(rate)))
    declared = [at for at in leaps if case.explained_by(int(steps[at]), within_steps=near) is not None]
    if 2 * len(declared) >= len(leaps):  # the others belong to the same plan
        return
    for at in leaps:
        step, before, after = int(steps[at]), float(values[at - 1]), float(values[at])
        if case.explained_by(step, within_steps=near) is not None or _is_warm_up(values, int(at)):
            continue
        resumed = any(abs(step - restart) <= near for restart in case.restarts)
        if _is_warm_restart(values, int(at)):
            continue
        # A rate set by hand may jump; a smooth schedule that jumps was restarted.
        smooth = _is_smooth(values[: int(at)], span) or _beyond_its_peak(case, values, int(at))
        severity: Severity = "critical" if resumed and smooth else "warning" if smooth or _hurt(case, step) else "info"
        yield case.finding(
            "lr-jump",
            severity,
            rate,
            f"{rate.tag} jumped from {before:.3g} to {after:.3g} at step {step:,}"
            + (", where the run was resumed." if resumed else "."),
            first_step=step,
            evidence=[
                Evidence(rate.tag, "jump as a share of the rate's range", abs(after - before) / span, limit, step)
            ],
        )


def _even(at: NDArray[np.int64]) -> bool:
    """Whether two or more jumps come at even intervals, counted from the start of the run."""
    if len(at) < 2:
        return False
    gaps = np.diff(np.concatenate([[0], at]))
    return bool(np.ptp(gaps) < 0.1 * gaps.mean())


def _is_smooth(values: Floats, span: float) -> bool:
    """Whether the rate changed a little at many points before, like a cosine or linear schedule."""
    changes = np.diff(values)
    return bool((changes != 0).sum() >= 8 and (changes != 0).mean() > 0.3 and np.abs(changes).max() < 0.5 * span)


def _beyond_its_peak(case: Case, values: Floats, at: int) -> bool:
    """Whether a rate that fell from point to point jumps far above its highest value so far: no schedule does that."""
    before = values[int(np.argmax(values[:at])) : at]
    falls = len(before) >= _LEAST_FALLING and bool((np.diff(before) < 0).all())
    return falls and float(values[at]) > case.limit("lr-jump", "beyond") * float(values[:at].max())


def _is_warm_restart(values: Floats, at: int) -> bool:
    """Whether the rate had come down to almost 0 and returns to where it began: the next cycle begins."""
    peak = float(values[:at].max())
    return float(values[at - 1]) < _SPENT * peak and abs(float(values[at]) / peak - 1) < _SAME_PEAK


def _hurt(case: Case, step: int) -> bool:
    """Whether the loss rose by a quarter of what had been learned right after a step."""
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None:
        return False
    steps, values = curve.points
    at = int(np.searchsorted(steps, step))
    before, after = values[max(0, at - 8) : at], values[at : at + 8]
    if len(before) < 3 or len(after) < 3:
        return False
    rise = float(np.median(after) - np.median(before))
    return rise > 0.25 * found.gain and rise > 3 * found.noise


def _started_over(values: Floats, leap: float) -> NDArray[np.bool_]:
    """Where the rate drops abruptly and then climbs back: the schedule started over."""
    highest_after = np.maximum.accumulate(values[::-1])[::-1]
    change = np.diff(values)
    # A late restart drops less than it climbs. A small drop at every point is a cyclic schedule.
    at_once = change < -max(0.3 * leap, 8 * float(np.median(np.abs(change))))
    return at_once & (highest_after[1:] > values[1:] + leap)


def _is_warm_up(values: Floats, at: int) -> bool:
    """Whether everything before the jump rises: a warm-up logged with few points."""
    return bool((np.diff(values[: at + 1]) >= 0).all())
