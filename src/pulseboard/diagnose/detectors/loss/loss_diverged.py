"""Loss diverged: the loss rose far above its best value and stays there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.objective import Objective, objective
from pulseboard.diagnose.facts.regime import may_rise, regime
from pulseboard.diagnose.facts.scores import validation_scores
from pulseboard.diagnose.facts.validation import validation_holds
from pulseboard.diagnose.phrases import percent, times
from pulseboard.diagnose.quote import quote
from pulseboard.diagnose.stats.course import Course, centered_median, course
from pulseboard.diagnose.track import Floats, Points

SLUG = "loss-diverged"
_LEAST_ABOVE, _ALMOST_ALL = 12, 0.95


@detector(id=SLUG, reads="train.loss|loss.components")
def loss_diverged(case: Case) -> Iterator[Finding]:
    """Large relative to the level, to what was learned and to the noise. Critical if most of the gain is lost."""
    curve = objective(case).value
    points = _since_the_last_plan(case, curve.points) if curve is not None else None
    found = course(points) if points is not None else None
    if (
        curve is None
        or points is None
        or found is None
        or found.points < (case.limit(SLUG, "points") if case.finished else 2 * case.limit(SLUG, "points"))
    ):
        raise TooShort(f"needs {case.limit(SLUG, 'points'):.0f} points of a training loss")
    if may_rise(case) and not _runaway(case, found):
        return
    said = quote(points, found)
    if _above_start(case, points, found):
        yield _finding(
            case, curve, points, found, f"it is now {times(said.end / said.start)} its first value", said.start
        )
    elif _above_best(case, points, found):
        lost = min(found.lost_share, 10.0)
        share = "all" if lost >= 1 else percent(lost)
        yield _finding(case, curve, points, found, f"{share} of the improvement is lost", said.best)


def _since_the_last_plan(case: Case, points: Points) -> Points:
    """The points after the last declared change: a new phase is judged on its own."""
    last = max((step for step, _ in case.context.declared_changes), default=None)
    if last is None:
        return points
    later = points.steps > last
    return Points(points.steps[later], points.values[later])


def _above_best(case: Case, points: Points, found: Course) -> bool:
    # A loss that began very high has gained so much at first that nothing later seems to count.
    much = found.lost_share >= case.limit(SLUG, "lost") or (
        found.lost_share >= case.limit(SLUG, "lost_of_much")
        and found.rise_share >= case.limit(SLUG, "clear_rise")
        and found.lost_log_share >= case.limit(SLUG, "lost")
        and found.points >= case.limit(SLUG, "clear_points")
    )
    # A validation score that falls with it says the same, so the loss alone need not prove it.
    if any(score.falls and score.course.rise > 0.2 * abs(score.course.best) for score in validation_scores(case)):
        return (
            found.lost_share >= case.limit(SLUG, "lost_of_much")
            and found.rise_share >= 2 * case.limit(SLUG, "rise")
            and found.surprise >= 0.5 * case.limit(SLUG, "surprise")
            and found.rise >= 2 * case.limit(SLUG, "noise") * found.noise
            and found.gain > 2 * found.error
        )
    return (
        much
        and found.rise_share >= case.limit(SLUG, "rise")
        and found.rise >= case.limit(SLUG, "noise") * found.noise
        and found.stays_up >= 0.5 * found.rise
        and (
            (found.surprise >= case.limit(SLUG, "surprise") and found.gain > 2 * found.error)
            or (found.lost_share >= case.limit(SLUG, "severe") and _stays_above(case, points.values, found))
        )
    )


def _stays_above(case: Case, values: Floats, found: Course) -> bool:
    """Whether almost every point of the second half since the best is far above it, however noisy they are.

    A step in the middle of a run looks like noise with a long memory, which makes errors wide.
    """
    later = values[found.best_at + (found.points_since_best + 1) // 2 :]
    above = (1 + case.limit(SLUG, "clear_rise")) * found.best
    learned = found.gain > 2 * found.error / found.widening
    return learned and found.best > 0 and len(later) >= _LEAST_ABOVE and float((later > above).mean()) >= _ALMOST_ALL


def _above_start(case: Case, points: Points, found: Course) -> bool:
    """A loss that only ever rose: it never improved, and is worse now."""
    above = found.end - found.start
    if found.points < 12:
        # Too few points to estimate the noise: every later point must be above, half as far if it is most of the run.
        limit, n = case.limit(SLUG, "above_start"), found.points
        later, most = points.values[n // 2 :] / found.start, points.values[max(2, n // 4) :] / found.start
        far = bool(later.min() >= 1 + limit)
        lasts = n >= 8 and bool(most.min() >= 1 + limit / 2) and float(np.median(most)) >= 1 + limit
        return found.start > 0 and (far or lasts)
    return (
        found.start > 0
        and above >= case.limit(SLUG, "above_start") * found.start
        and above >= case.limit(SLUG, "noise") * found.noise
        and above / found.error >= case.limit(SLUG, "surprise")
        and found.stays_up >= 0.5 * found.rise
    )


def _runaway(case: Case, found: Course) -> bool:
    """If the loss may rise in a healthy run, only an extreme rise counts."""
    competing = "adversarial" in (regime(case).value or frozenset())
    return competing and found.end > case.limit(SLUG, "runaway") * max(abs(found.start), abs(found.best))


def _finding(case: Case, curve: Objective, points: Points, found: Course, what: str, base: float) -> Finding:
    since, said = _since(points, found), quote(points, found)
    severe = found.end >= found.start or found.lost_share >= case.limit(SLUG, "severe")
    scores = validation_scores(case)
    unhurt = validation_holds(case) or (not severe and bool(scores) and all(score.holds for score in scores))
    return case.finding(
        SLUG,
        "info" if unhurt else "critical" if severe else "warning",
        curve.tag,
        f"{curve} rose from {said.text(base)} to {said.text(said.end)} after step {since:,}: {what}.",
        first_step=since,
        evidence=[
            Evidence(
                curve.tag, "rise as a share of the gain", min(found.lost_share, 1e6), case.limit(SLUG, "lost"), since
            ),
            Evidence(curve.tag, "rise in standard errors", found.surprise, case.limit(SLUG, "surprise"), since),
        ],
    )


def _since(points: Points, found: Course) -> int:
    """The last step at which the level was still near its best: within a quarter of the rise."""
    level = centered_median(points.values, found.width)
    low = np.flatnonzero(level <= found.best + 0.25 * found.rise)
    return int(points.steps[min(int(low[-1]) if len(low) else found.best_at, len(points.steps) - 1)])
