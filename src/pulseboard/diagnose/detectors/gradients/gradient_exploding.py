"""Gradient exploding: the gradient norm has risen and stays high."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import stride_steps
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.phrases import times as multiple
from pulseboard.diagnose.track import Change

UP = Change(log=True)


@detector(id="gradient-exploding", reads="gradient.norm")
def gradient_exploding(case: Case) -> Iterator[Finding]:
    """A lasting rise of the norm by a large factor; critical from a hundred times on."""
    norm = case.need("gradient.norm", points=8)
    steps, values = norm.points(most=1024)
    # The first quarter: what explodes slowly has no usual level later on.
    usual = float(np.median(values[: max(4, len(values) // 4)]))
    if usual <= 0:
        return
    times, severe = case.limit("gradient-exploding", "times"), case.limit("gradient-exploding", "severe_times")
    near = int(16 * stride_steps(norm))
    for alarm in norm.alarms(UP) if norm.carries(UP) and len(norm) >= 48 else ():
        factor = math.exp(alarm.peak - alarm.level)
        stays = alarm.returned is not True and math.exp(alarm.last - alarm.level) >= times
        if alarm.first_step <= case.warm_up_step or not stays or factor < times:
            continue
        if case.explained_by(alarm.first_step, within_steps=near) is not None:
            continue
        yield case.finding(
            "gradient-exploding",
            "critical" if factor >= severe else "info" if may_rise(case) else "warning",
            norm,
            f"{norm.tag} rose from {number(math.exp(alarm.level))} to {number(math.exp(alarm.peak))} "
            f"({multiple(factor)}) at step {alarm.first_step:,} and stays high.",
            first_step=alarm.first_step,
            evidence=[Evidence(norm.tag, "peak relative to the level before", factor, times, alarm.peak_step)],
        )
        return
    last = float(np.median(values[-5:]))
    if last >= severe * usual:
        first = int(steps[int(np.argmax(values >= severe * usual))])
        yield case.finding(
            "gradient-exploding",
            "critical",
            norm,
            f"{norm.tag} has risen from {number(usual)} to {number(last)} ({multiple(last / usual)}).",
            first_step=first,
            evidence=[Evidence(norm.tag, "last points relative to the median", last / usual, severe, int(steps[-1]))],
        )
