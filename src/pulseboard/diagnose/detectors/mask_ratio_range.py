"""Mask ratio range: too little is masked for the task to be hard, or too much for it to be possible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="mask-ratio-range", reads="mask.ratio")
def mask_ratio_range(case: Case) -> Iterator[Finding]:
    """The median of the run against the usual range; a warning where next to nothing is left of either side."""
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
        f"{ratio.tag} is about {level:.2f}; {low:g} to {high:g} is usual.",
        evidence=[Evidence(ratio.tag, "median", level, low if level < low else high)],
    )
