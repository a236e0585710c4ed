"""Throughput drop: steps take longer than they did."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import points_since, stride_steps
from pulseboard.diagnose.track import Change

UP = Change(log=True)


@detector(id="throughput-drop", reads="time.step")
def throughput_drop(case: Case) -> Iterator[Finding]:
    """A rise of step time that lasts, large enough to matter, without a planned change of the work."""
    time = case.need("time.step", points=64)
    limit, least = case.limit("throughput-drop", "times"), case.limit("throughput-drop", "points")
    steps, values = time.points(most=1024)
    for alarm in time.alarms(UP) if time.carries(UP) else ():
        lasts = points_since(time, alarm.first_step) >= least
        after = values[steps >= alarm.first_step]
        before = values[(steps < alarm.first_step) & (steps > case.warm_up_step)]
        if alarm.first_step <= case.warm_up_step or alarm.returned is True or not lasts or len(before) < 16:
            continue
        factor = float(np.median(after)) / float(np.median(before))
        if factor < limit or math.exp(alarm.last - alarm.level) < limit:
            continue
        if case.explained_by(alarm.first_step, within_steps=int(16 * stride_steps(time))) is not None:
            continue
        yield case.finding(
            "throughput-drop",
            "warning",
            time,
            f"{time.tag} is {factor:.2f} times what it was before step {alarm.first_step}.",
            first_step=alarm.first_step,
            evidence=[Evidence(time.tag, "step time over what it was", factor, limit, alarm.alarm_step)],
        )
        return
