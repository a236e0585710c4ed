"""Gradient exploding: the gradient norm has gone up for good."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.detectors.loss_diverged import moving_target
from pulseboard.diagnose.episodes import stride_steps
from pulseboard.diagnose.track import Change

UP = Change(log=True)


@detector(id="gradient-exploding", reads="gradient.norm")
def gradient_exploding(case: Case) -> Iterator[Finding]:
    """A rise of the norm that lasts, by a factor that matters; critical from a hundred times the median on."""
    norm = case.need("gradient.norm", points=48)
    steps, values = norm.points(most=1024)
    usual = float(np.median(values[: max(8, len(values) // 2)]))
    if usual <= 0:
        return
    times, grave = case.limit("gradient-exploding", "times"), case.limit("gradient-exploding", "grave_times")
    near = int(16 * stride_steps(norm))
    for alarm in norm.alarms(UP) if norm.carries(UP) else ():
        factor = math.exp(alarm.peak - alarm.level)
        stays = alarm.returned is not True and math.exp(alarm.last - alarm.level) >= times
        if alarm.first_step <= case.warm_up_step or not stays or factor < times:
            continue
        if case.explained_by(alarm.first_step, within_steps=near) is not None:
            continue
        yield case.finding(
            "gradient-exploding",
            "critical" if factor >= grave else "info" if moving_target(case) else "warning",
            norm,
            f"{norm.tag} rose from {math.exp(alarm.level):.3g} to {math.exp(alarm.peak):.3g} from step "
            f"{alarm.first_step} and stays up.",
            first_step=alarm.first_step,
            evidence=[Evidence(norm.tag, "peak over the level before", factor, times, alarm.peak_step)],
        )
        return
    last = float(np.median(values[-5:]))
    if last >= grave * usual:
        first = int(steps[int(np.argmax(values >= grave * usual))])
        yield case.finding(
            "gradient-exploding",
            "critical",
            norm,
            f"{norm.tag} is {last:.3g}, {last / usual:.0f} times its usual.",
            first_step=first,
            evidence=[Evidence(norm.tag, "last points over the median", last / usual, grave, int(steps[-1]))],
        )
