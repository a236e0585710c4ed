"""Evaluation frozen: the same validation loss to the last digit, again and again."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.detectors.lr_zero import lr_zero
from pulseboard.diagnose.detectors.weights_frozen import weights_frozen


@detector(id="eval-frozen", reads="val.loss")
def eval_frozen(case: Case) -> Iterator[Finding]:
    """Several evaluations in a row that are exactly equal while training goes on."""
    least = case.limit("eval-frozen", "in_a_row")
    train = case.one("train.loss")
    # Weights that do not change evaluate the same: that is told by other findings.
    if (case.one("lr") is not None and any(lr_zero(case))) or any(weights_frozen(case)):
        return
    moving = train is None or train.longest_streak is None or train.longest_streak.length < 0.5 * len(train)
    for track in case.every("val.loss"):
        same = track.longest_streak
        if same is None or same.length < least or not moving or same.last_step <= same.first_step:
            continue
        # Exactly 0, or a row early in a long series of evaluations, is told by other findings or by none.
        if same.value == 0.0 or same.length < 0.3 * len(track):
            continue
        yield case.finding(
            "eval-frozen",
            "critical",
            track,
            f"{track.tag} is {same.value:.6g} at {same.length} evaluations in a row, from step {same.first_step}.",
            first_step=same.first_step,
            last_step=same.last_step,
            evidence=[Evidence(track.tag, "equal evaluations in a row", same.length, least, same.first_step)],
        )
        return
