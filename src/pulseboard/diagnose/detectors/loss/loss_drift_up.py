"""Loss drift up: the loss rises slowly over the last half of the run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.objective import Objective, loss_course, objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.facts.scores import validation_scores
from pulseboard.diagnose.facts.validation import validation_curves, validation_holds
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.quote import quote
from pulseboard.diagnose.stats.course import Course, course
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Floats, Points

SLUG = "loss-drift-up"


@detector(id=SLUG, reads="train.loss")
def loss_drift_up(case: Case) -> Iterator[Finding]:
    """A clear upward trend that undoes part of what was learned."""
    curve, found = objective(case).value, loss_course(case).value
    both = _both_rise(case, curve, found) if curve is not None and found is not None else None
    if both is not None:
        yield both
        return
    if curve is None or found is None or found.points < case.limit(SLUG, "points"):
        raise TooShort(f"needs {case.limit(SLUG, 'points'):.0f} points of a training loss")
    if may_rise(case) or curve.track is None:
        return
    steps, values = curve.points
    later = steps > max(case.warm_up_step, int(steps[len(steps) // 2]))
    line = trend(Points(steps[later], values[later]))
    if line is None or line.p_rising > case.limit(SLUG, "p"):
        return
    first = int(steps[later][0])
    rise = line.end - line.start
    share = rise / abs(line.start) if line.start else 0.0
    lost = rise / max(found.gain, found.noise, 1e-300)
    if share < case.limit(SLUG, "rise") or lost < case.limit(SLUG, "lost") or rise < found.noise:
        return
    if case.explained_by(first, within_steps=int(steps[-1] - first)) is not None:
        return
    yield case.finding(
        SLUG,
        "info" if validation_holds(case) else "warning",
        curve.tag,
        f"{curve} has slowly risen {percent(share)} since step {first:,}, from {number(line.start)} to "
        f"{number(line.end)}.",
        first_step=first,
        evidence=[
            Evidence(curve.tag, "rise as a share of the level", share, case.limit(SLUG, "rise"), first),
            Evidence(curve.tag, "rise as a share of the gain", lost, case.limit(SLUG, "lost"), first),
        ],
    )


def _both_rise(case: Case, curve: Objective, found: Course) -> Finding | None:
    """Few points of training that rise from the best one to the end, and validation that rises with them."""
    evaluations = validation_curves(case, points=int(case.limit(SLUG, "evaluations")))
    if not evaluations or may_rise(case) or not case.finished or found.points < case.limit(SLUG, "few_points"):
        return None
    courses = [found, *(one for other in evaluations if (one := course(other.points, steep=True)) is not None)]
    limit = case.limit(SLUG, "rise")
    for one in courses:
        if one.gain < 4 * one.error or one.rise_share < limit or one.lost_share < case.limit(SLUG, "lost_of_both"):
            return None
        if one.points_since_best < case.limit(SLUG, "share_of_both") * one.points or one.stays_up < 0.5 * one.rise:
            return None
    curves = [curve, *evaluations]
    much = all(one.lost_share >= case.limit(SLUG, "much_of_both") for one in courses)
    rising = [_keeps_rising(each.points.values[one.best_at :]) for each, one in zip(curves, courses, strict=True)]
    if not much and not all(rising):
        return None
    said = quote(curve.points, found)
    first = said.best_step
    scores = validation_scores(case)
    # Answers that are as good as before: the model is only less sure of them.
    unhurt = bool(scores) and all(score.holds for score in scores)
    small = max(one.rise_share for one in courses[1:]) < case.limit(SLUG, "sure_rise")
    return case.finding(
        SLUG,
        "info" if unhurt and small else "warning",
        curve.tag,
        f"{curve} has risen {percent(said.rise_share)} since step {first:,}, from {said.text(said.best)} to "
        f"{said.text(said.end)}, and {evaluations[0]} rises with it.",
        first_step=first,
        evidence=[Evidence(curve.tag, "rise as a share of the level", found.rise_share, limit, first)],
    )


def _keeps_rising(values: Floats) -> bool:
    """Whether each third is above the one before, from the best point on."""
    thirds = [float(np.median(part)) for part in np.array_split(values, 3) if len(part)]
    return len(thirds) == 3 and thirds[0] < thirds[1] < thirds[2]
