"""MoE z-loss high: the router logits are growing."""

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


@detector(id="moe-zloss-high", reads="moe.z_loss")
def moe_zloss_high(case: Case) -> Iterator[Finding]:
    """A clear rise by a factor, to above the limit; info if only one of the two holds."""
    track = case.need("moe.z_loss", points=16)
    steps, values = track.points(most=512)
    later = (steps > case.warm_up_step) & (values > 0)
    if later.sum() < 16:
        return
    line = trend(Points(steps[later], np.log(values[later])))
    times, limit = case.limit("moe-zloss-high", "times"), case.limit("moe-zloss-high", "level")
    level = float(np.median(values[-5:]))
    grown = float(np.exp(line.end - line.start)) if line is not None and line.p_rising < 1e-4 else 1.0
    if grown < times and level <= limit:
        return
    yield case.finding(
        "moe-zloss-high",
        "warning" if grown >= times and level > limit else "info",
        track,
        f"{track.tag} is {number(level)}"
        + (f", {multiple(grown)} its value after warm-up." if grown >= times else f"; {limit:g} or less is usual."),
        evidence=[Evidence(track.tag, "latest value", level, limit, int(steps[-1]), on_curve=True)],
    )
