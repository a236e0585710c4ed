"""Rank desync: ranks that should hold the same weights do not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent


@detector(id="rank-desync", reads=("ranks", "rank.checksum"))
def rank_desync(case: Case) -> Iterator[Finding]:
    """Parameter checksums that differ between ranks at the same step."""
    tag = case.reading.first("rank.checksum")
    if tag is None:
        return
    points = {rank: tracks[tag].points() for rank, tracks in case.ranks.items() if tag in tracks}
    if len(points) < 2:
        return
    first, *others = points.values()
    tolerance = case.limit("rank-desync", "relative")
    worst = 0.0
    for other in others:
        common, a, b = np.intersect1d(first.steps, other.steps, return_indices=True)
        apart = np.abs(first.values[a] - other.values[b])
        size = np.maximum(np.abs(first.values[a]), 1e-12)
        wrong = apart / size > tolerance
        if wrong.any():
            worst = max(worst, float((apart / size).max()))
            step = int(common[int(np.argmax(wrong))])
            yield case.finding(
                "rank-desync",
                "critical",
                tag,
                f"The ranks have had different parameters since step {step:,}: {tag} differs by up to "
                f"{percent(worst)}.",
                first_step=step,
                evidence=[Evidence(tag, "relative difference", worst, tolerance, step)],
            )
            return
