"""Gradient scale off: every gradient is several times the clipping threshold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="gradient-scale-off", reads="gradient.norm", needs=("clip_norm",))
def gradient_scale_off(case: Case) -> Iterator[Finding]:
    """The norm before clipping never comes near the threshold: a sum where a mean was meant, perhaps."""
    norm = case.need("gradient.norm", points=48)
    threshold = case.context.clip_norm
    assert threshold is not None
    steps, values = norm.points(most=1024)
    later = values[steps > case.warm_up_step]
    if len(later) < 20:
        return
    level, times = float(np.median(later)), case.limit("gradient-scale-off", "times")
    if not times * threshold <= level <= case.limit("gradient-scale-off", "most_times") * threshold:
        return
    if float((later > threshold).mean()) < 0.999:
        return
    yield case.finding(
        "gradient-scale-off",
        "warning" if case.context.adaptive is False else "info",
        norm,
        f"{norm.tag} is about {level:.3g}, {level / threshold:.0f} times the clipping threshold, at every step.",
        evidence=[Evidence(norm.tag, "median over the clipping threshold", level / threshold, times)],
    )
