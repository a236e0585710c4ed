"""Weights frozen: gradients come, and no weight moves."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="weights-frozen", reads="update.ratio")
def weights_frozen(case: Case) -> Iterator[Finding]:
    """Updates of exactly 0 at several points in a row, with gradients above 0 where they are logged."""
    update = case.need("update.ratio")
    still, least = update.longest_streak, case.limit("weights-frozen", "in_a_row")
    if still is None or still.value != 0.0 or still.length < least:
        return
    gradient = case.one("gradient.norm")
    if gradient is not None and gradient.high <= 0.0:
        return
    yield case.finding(
        "weights-frozen",
        "critical",
        update,
        f"{update.tag} is exactly 0 at {still.length} points in a row from step {still.first_step}: nothing is "
        "learned.",
        first_step=still.first_step,
        last_step=still.last_step,
        evidence=[Evidence(update.tag, "points in a row without an update", still.length, least, still.first_step)],
    )
