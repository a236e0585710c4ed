"""Restart overlap: two writers, or an unmarked resume, logged the same steps."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import count


@detector(id="restart-overlap", reads="train.loss|val.loss|rl.return|gan.loss")
def restart_overlap(case: Case) -> Iterator[Finding]:
    """Points at steps that were already logged, without a restart that explains them."""
    loss = next(t for role in ("train.loss", "val.loss", "rl.return", "gan.loss") for t in case.every(role))
    limit = case.limit("restart-overlap", "points")
    if case.overlaps < limit:
        return
    yield case.finding(
        "restart-overlap",
        "info",
        loss,
        f"{count(case.overlaps, 'point')} of {loss.tag} are at steps that were already logged: two processes wrote to "
        "this run, or a resume was not marked.",
        evidence=[Evidence(loss.tag, "points at steps already logged", case.overlaps, limit)],
    )
