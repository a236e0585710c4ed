"""Restart overlap: two writers, or a resume, put different points on the same steps."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="restart-overlap", reads="train.loss|val.loss|rl.return|gan.loss")
def restart_overlap(case: Case) -> Iterator[Finding]:
    """Points that stand beside others of the same step and that no restart explains."""
    loss = next(t for role in ("train.loss", "val.loss", "rl.return", "gan.loss") for t in case.every(role))
    limit = case.limit("restart-overlap", "points")
    if case.overlaps < limit:
        return
    yield case.finding(
        "restart-overlap",
        "info",
        loss,
        f"{case.overlaps} points of {loss.tag} lie at steps that were logged before: two writers, or a resume "
        "without a mark.",
        evidence=[Evidence(loss.tag, "points at steps that came before", case.overlaps, limit)],
    )
