"""Learning rate jump: the schedule leaps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import stride_steps
from pulseboard.diagnose.track import Floats


@detector(id="lr-jump", reads="lr")
def lr_jump(case: Case) -> Iterator[Finding]:
    """A leap upwards after warm-up that no plan declares, or a fall that the schedule then climbs out of again.

    Falls by steps are schedules that people use.
    """
    rate = case.need("lr", points=8)
    steps, values = rate.points()
    span = float(values.max() - values.min())
    if span <= 0:
        return
    limit = case.limit("lr-jump", "share_of_range")
    leaps = np.flatnonzero((np.diff(values) > limit * span) | _begun_anew(values, limit * span)) + 1
    # Where steps go back, another writer begins, and its schedule with it.
    leaps = leaps[(steps[leaps] > max(case.warm_up_step, int(steps[0]))) & (steps[leaps] > steps[leaps - 1])]
    # A schedule that leaps again and again is a schedule.
    if not len(leaps) or len(leaps) > 3:
        return
    near = max(1, int(4 * stride_steps(rate)))
    declared = [at for at in leaps if case.explained_by(int(steps[at]), within_steps=near) is not None]
    if 2 * len(declared) >= len(leaps):  # the rest belongs to the same plan
        return
    for at in leaps:
        step, before, after = int(steps[at]), float(values[at - 1]), float(values[at])
        if case.explained_by(step, within_steps=near) is not None or _is_warm_up(values, int(at)):
            continue
        resumed = any(abs(step - restart) <= near for restart in case.restarts)
        yield case.finding(
            "lr-jump",
            "critical" if resumed else "warning",
            rate,
            f"{rate.tag} leaps from {before:.3g} to {after:.3g} at step {step}"
            + (", where the run was resumed." if resumed else "."),
            first_step=step,
            evidence=[
                Evidence(rate.tag, "leap as a share of the rate's range", abs(after - before) / span, limit, step)
            ],
        )


def _begun_anew(values: Floats, leap: float) -> NDArray[np.bool_]:
    """Where the rate falls at once and then climbs back: a schedule that began from its first step again."""
    highest_after = np.maximum.accumulate(values[::-1])[::-1]
    change = np.diff(values)
    # A late beginning falls less far than it climbs. What falls a little at every point is a schedule that swings.
    at_once = change < -max(0.3 * leap, 8 * float(np.median(np.abs(change))))
    return at_once & (highest_after[1:] > values[1:] + leap)


def _is_warm_up(values: Floats, at: int) -> bool:
    """Whether everything before the leap rises: a warm-up in few points."""
    return bool((np.diff(values[: at + 1]) >= 0).all())
