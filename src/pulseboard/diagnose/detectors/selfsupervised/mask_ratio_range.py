"""Mask ratio range: so little is masked that the task is trivial, or so much that it is impossible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number


@detector(id="mask-ratio-range", reads="mask.ratio")
def mask_ratio_range(case: Case) -> Iterator[Finding]:
    """The median is outside the usual range; a warning if almost nothing or almost everything is masked."""
    ratio = case.need("mask.ratio", points=3)
    level = float(np.median(ratio.points(most=512).values))
    low, high = case.limit("mask-ratio-range", "low"), case.limit("mask-ratio-range", "high")
    if low <= level <= high:
        return
    extreme = level < case.limit("mask-ratio-range", "least") or level > case.limit("mask-ratio-range", "most")
    yield case.finding(
        "mask-ratio-range",
        "warning" if extreme else "info",
        ratio,
        f"The median of {ratio.tag} is {number(level)}; the usual range is {low:g} to {high:g}.",
        evidence=[Evidence(ratio.tag, "median", level, low if level < low else high, on_curve=True)],
    )
