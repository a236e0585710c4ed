"""MoE dead experts: experts that get almost no tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent
from pulseboard.diagnose.track import Points


@detector(id="moe-dead-experts", reads="moe.dead|moe.utilization")
def moe_dead_experts(case: Case) -> Iterator[Finding]:
    """From the share of dead experts, or of experts in use; critical from a quarter on."""
    limit, severe = case.limit("moe-dead-experts", "share"), case.limit("moe-dead-experts", "severe_share")
    found: tuple[float, str] | None = None
    for track in case.every("moe.dead"):
        level = _lately(case, track.points(most=512))
        if level is None:
            continue
        experts = case.context.experts
        share = level if level <= 1.0 and track.high <= 1.0 else (level / experts if experts else None)
        if share is not None:
            found = max(found or (0.0, ""), (share, track.tag))
    used = case.one("moe.utilization")
    if used is not None:
        level = _lately(case, used.points(most=512))
        if level is not None:
            found = max(found or (0.0, ""), (1.0 - level, used.tag))
    if found is None or found[0] <= limit:
        return
    share, tag = found
    yield case.finding(
        "moe-dead-experts",
        "critical" if share > severe else "warning",
        tag,
        f"{percent(share)} of the experts get almost no tokens ({tag}).",
        evidence=[Evidence(tag, "share of experts without tokens", share, limit)],
    )


def _lately(case: Case, points: Points) -> float | None:
    values = points.values[points.steps > case.warm_up_step]
    return float(np.median(values[-max(5, len(values) // 4) :])) if len(values) >= 5 else None
