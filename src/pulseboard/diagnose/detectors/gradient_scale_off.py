"""Gradient scale off: gradients are several times what they should be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(
    id="gradient-scale-off", reads="gradient.norm|gradient.left_over", needs=("clip_norm|gradient.left_over|earlier",)
)
def gradient_scale_off(case: Case) -> Iterator[Finding]:
    """What the step before left is still there, or the norm before clipping never comes near the threshold."""
    left = case.one("gradient.left_over")
    if left is not None and left.finite_count >= 3:
        steps, values = left.points(most=1024)
        still = values > 0
        if still.mean() > 0.5:
            yield case.finding(
                "gradient-scale-off",
                "warning",
                left,
                "The gradients of the step before are still there when backward begins.",
                first_step=int(steps[still][0]),
                evidence=[Evidence(left.tag, "share of points above 0", float(still.mean()), 0.5)],
            )
            return
    away, norm = case.departure("gradient.norm"), case.one("gradient.norm")
    if away is not None and norm is not None and (k := round(away.ratio)) >= 2 and abs(away.ratio - k) < 0.1 * k:
        yield case.finding(
            "gradient-scale-off",
            "warning" if case.context.adaptive is False else "info",
            norm,
            f"{norm.tag} is {k} times that of {away.runs} earlier runs: a sum in the place of a mean.",
            first_step=round(away.first_x),
            last_step=round(away.last_x),
            evidence=[Evidence(norm.tag, "level, over that of earlier runs", away.ratio, 1)],
        )
        return
    threshold = case.context.clip_norm
    if threshold is None or case.one("gradient.norm") is None:
        return
    norm = case.need("gradient.norm", points=48)
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
