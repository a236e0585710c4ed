"""MoE z-loss high: router logits grow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.statistics.trend import trend
from pulseboard.diagnose.track import Points


@detector(id="moe-zloss-high", reads="moe.z_loss")
def moe_zloss_high(case: Case) -> Iterator[Finding]:
    """Rising for sure, by a factor; info where it is only above the guide's limit."""
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
        f"{track.tag} is {level:.3g}" + (f", {grown:.1f} times what it was after warm-up." if grown >= times else "."),
        evidence=[Evidence(track.tag, "level", level, limit, int(steps[-1]))],
    )
