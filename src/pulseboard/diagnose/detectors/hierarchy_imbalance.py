"""Hierarchy imbalance: a level's share of the loss is far from the weight it was given."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="hierarchy-imbalance", reads="loss.contribution")
def hierarchy_imbalance(case: Case) -> Iterator[Finding]:
    """Shares over the last half of the run, against the configured weights or, without them, against nothing at all."""
    levels: dict[int, tuple[str, float]] = {}
    for track in case.every("loss.contribution"):
        number = re.search(r"(\d+)$", track.tag)
        values = track.points(most=256).values
        if number and len(values) >= 5:
            level = float(np.median(values[len(values) // 2 :]))
            levels[int(number.group(1))] = (track.tag, level / 100.0 if track.high > 1.5 else level)
    if len(levels) < 2:
        return
    weights = case.context.hierarchy_weights
    off = case.limit("hierarchy-imbalance", "apart")
    starved = case.limit("hierarchy-imbalance", "least_share")
    wanted = {i: w / sum(weights) for i, w in enumerate(weights)} if weights and sum(weights) > 0 else {}
    worst: tuple[float, str, float, float] | None = None
    for place, (tag, share) in levels.items():
        aim = wanted.get(place, 1 / len(levels))
        gap = abs(share - aim)
        alone = share > 1 - starved
        if (wanted and gap > off) or alone or share < starved * aim:
            worst = max(worst or (0.0, "", 0.0, 0.0), (gap, tag, share, aim))
    if worst is None:
        return
    gap, tag, share, aim = worst
    grave = share > 1 - starved or share < starved * aim
    yield case.finding(
        "hierarchy-imbalance",
        "warning" if grave else "info",
        tag,
        f"{tag} makes {100 * share:.0f} % of the loss where its weight is {100 * aim:.0f} %.",
        evidence=[Evidence(tag, "share of the loss, away from its weight", gap, off)],
    )
