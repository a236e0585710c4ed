"""Weights exploding: the parameter norm keeps growing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.phrases import times as multiple
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points


@detector(id="weights-exploding", reads="parameter.norm")
def weights_exploding(case: Case) -> Iterator[Finding]:
    """Clearly rising, and several times its first value, either now or by the planned end at the current rate."""
    norm = case.need("parameter.norm", points=8)
    steps, values = norm.points(most=512)
    start, now = float(values[0]), float(values[-1])
    if start <= 0:
        return
    line = trend(Points(steps, np.log(np.maximum(values, 1e-300))))
    if line is None or line.p_rising > case.limit("weights-exploding", "p"):
        return
    times, limit = now / start, case.limit("weights-exploding", "times")
    projected = times
    if case.planned_steps and steps[-1] > steps[0] and not case.finished:
        rest = max(0, case.planned_steps - int(steps[-1]))
        part = max(3, len(values) // 4)
        pace = (now - float(values[-part])) / max(1, int(steps[-1] - steps[-part]))
        projected = (now + max(0.0, pace) * rest) / start
    if times < limit and not (projected >= limit and times > 0.5 * limit):
        return
    at = int(np.argmax(values >= min(limit, times) * start)) if times >= limit else len(values) - 1
    yield case.finding(
        "weights-exploding",
        "warning",
        norm,
        f"{norm.tag} has grown from {number(start)} to {number(now)} ({multiple(times)}) and is still rising.",
        first_step=int(steps[at]),
        evidence=[Evidence(norm.tag, "norm relative to its first value", times, limit, int(steps[-1]))],
    )
