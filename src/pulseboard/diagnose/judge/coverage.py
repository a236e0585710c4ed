"""Coverage: how many checks could run, and whether they were enough to call a run healthy."""

from __future__ import annotations

from collections import Counter

from pulseboard.core.finding import Coverage
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import DetectionResults, all_detectors
from pulseboard.diagnose.facts.objective import loss_course
from pulseboard.diagnose.facts.validation import validation_curves

_MOST_LINES = 3
# Enough points to see where a curve is going.
LEAST_TRAINING, LEAST_EVALUATIONS, LEAST_RETURNS = 8, 4, 20


def coverage_of(seen: DetectionResults) -> Coverage:
    """How many of the detectors ran, and the lines of code that would enable most of the others."""
    lines = Counter(one.log for one in seen.not_checked if one.log)
    of = len(all_detectors())
    return Coverage(of - len(seen.not_checked), of, tuple(lines.most_common(_MOST_LINES)))


def judged(case: Case) -> bool:
    """Whether enough is logged to call a run healthy: some curve that shows whether the model learns."""
    found = loss_course(case).value
    if found is not None and found.points >= LEAST_TRAINING:
        return True
    if validation_curves(case, points=LEAST_EVALUATIONS):
        return True
    if any(track.finite_count >= LEAST_EVALUATIONS for track in case.every("val.accuracy")):
        return True
    if any(track.finite_count >= LEAST_TRAINING for role in ("gan.loss", "rl.loss") for track in case.every(role)):
        return True
    return any(track.finite_count >= LEAST_RETURNS for track in case.every("rl.return"))
