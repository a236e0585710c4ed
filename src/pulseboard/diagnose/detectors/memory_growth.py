"""Memory growth: memory in use grows all along."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.statistics.trend import trend
from pulseboard.diagnose.track import Points


@detector(id="memory-growth", reads="memory.used")
def memory_growth(case: Case) -> Iterator[Finding]:
    """Rising for sure after the first part of the run, in small steps, and by a share that will not end well."""
    worst: tuple[float, str, int, float, float] | None = None
    limit = case.limit("memory-growth", "share")
    for track in case.every("memory.used"):
        steps, values = track.points(most=256)
        if not len(steps):
            continue
        # Caches fill, workers start: the first part says nothing.
        later = steps > steps[0] + case.limit("memory-growth", "settle") * (steps[-1] - steps[0])
        part = Points(steps[later], values[later])
        if len(part.values) < case.limit("memory-growth", "points"):
            continue
        line = trend(part)
        if line is None or line.p_rising > 1e-4 or line.start <= 0:
            continue
        rises = np.diff(part.values)
        grown = float(part.values[-1] - part.values[0])
        # One allocation that stays is no leak: no single rise may make half of the growth.
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
        f"{tag} has grown from {before:.4g} to {after:.4g} since step {first}, bit by bit.",
        first_step=first,
        evidence=[Evidence(tag, "growth as a share", share, limit)],
    )
