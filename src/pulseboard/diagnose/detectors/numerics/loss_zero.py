"""Loss zero: the loss is exactly 0 at several points."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="loss-zero", reads="train.loss")
def loss_zero(case: Case) -> Iterator[Finding]:
    """Several points in a row are exactly 0 while gradients are finite."""
    loss = case.need("train.loss")
    zeros, least = loss.longest_streak, case.limit("loss-zero", "in_a_row")
    gradient = case.one("gradient.norm")
    if (
        zeros is None
        or zeros.value != 0.0
        or zeros.length < min(least, max(3, len(loss)))
        or (gradient is not None and gradient.not_finite)
    ):
        return
    yield case.finding(
        "loss-zero",
        "critical",
        loss,
        f"{loss.tag} is exactly 0 for {zeros.length} points in a row, from step {zeros.first_step}.",
        first_step=zeros.first_step,
        last_step=zeros.last_step,
        evidence=[Evidence(loss.tag, "points in a row that are exactly 0", zeros.length, least, zeros.first_step)],
    )
