"""Memory growth: memory use keeps growing a little at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points


@detector(id="memory-growth", reads="memory.used")
def memory_growth(case: Case) -> Iterator[Finding]:
    """A significant rise after the first part of the run, in small increments, by enough to matter."""
    worst: tuple[float, str, int, float, float] | None = None
    limit = case.limit("memory-growth", "share")
    for track in case.every("memory.used"):
        steps, values = track.points(most=256)
        if not len(steps):
            continue
        # Skip the first part, while caches fill and workers start.
        later = steps > steps[0] + case.limit("memory-growth", "settle") * (steps[-1] - steps[0])
        part = Points(steps[later], values[later])
        if len(part.values) < case.limit("memory-growth", "points"):
            continue
        line = trend(part)
        if line is None or line.p_rising > 1e-4 or line.start <= 0:
            continue
        rises = np.diff(part.values)
        grown = float(part.values[-1] - part.values[0])
        # A single allocation that stays is not a leak: no one increase may account for half of the growth.
        if grown <= 0 or float(rises.max()) > 0.5 * grown or float((rises > 0).mean()) < 0.5:
            continue
        share = grown / float(part.values[0])
        if share >= limit:
            seen = (share, track.tag, int(part.steps[0]), float(part.values[0]), float(part.values[-1]))
            worst = max(worst or seen, seen)
    if worst is None:
        return
    share, tag, first, before, after = worst
    yield case.finding(
        "memory-growth",
        "warning",
        tag,
        f"{tag} has grown steadily by {percent(share)} since step {first:,}, from {number(before)} to {number(after)}.",
        first_step=first,
        evidence=[Evidence(tag, "relative growth", share, limit)],
    )
