"""Gradient scale off: gradients are several times larger than they should be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import count, number
from pulseboard.diagnose.phrases import times as multiple


@detector(
    id="gradient-scale-off", reads="gradient.norm|gradient.left_over", needs=("clip_norm|gradient.left_over|earlier",)
)
def gradient_scale_off(case: Case) -> Iterator[Finding]:
    """Gradients are not zeroed between steps, or the norm before clipping is always far above the threshold."""
    left = case.one("gradient.left_over")
    if left is not None and left.finite_count >= 3:
        steps, values = left.points(most=1024)
        still = values > 0
        if still.mean() > 0.5:
            yield case.finding(
                "gradient-scale-off",
                "warning",
                left,
                f"Gradients are not zeroed between steps: those of the previous step are still there when backward "
                f"starts ({left.tag}).",
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
            f"{norm.tag} is {k} times as large as in {count(away.runs, 'earlier run')}: probably a sum instead of a "
            "mean.",
            first_step=round(away.first_x),
            last_step=round(away.last_x),
            evidence=[Evidence(norm.tag, "level relative to earlier runs", away.ratio, 1)],
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
        f"{norm.tag} is above the clipping threshold at every step; its median is {number(level)}, "
        f"{multiple(level / threshold)} the threshold of {number(threshold)}.",
        evidence=[Evidence(norm.tag, "median relative to the clipping threshold", level / threshold, times)],
    )
