"""Loss flat: the loss has not come down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.learning import learning, weights_move
from pulseboard.diagnose.facts.objective import Objective, loss_course, objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.stats.course import Course
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points

SLUG = "loss-flat"


@detector(id=SLUG, reads="train.loss|loss.components")
def loss_flat(case: Case) -> Iterator[Finding]:
    """No fall beyond the noise, and no other curve improved. Critical if the weights do not change."""
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None or found.points < case.patient(case.limit(SLUG, "points")):
        raise TooShort(f"needs {case.limit(SLUG, 'points'):.0f} points of a training loss")
    if may_rise(case):
        return
    if learning(case).value is not False:
        if learning(case).value is None and _crawls(case, curve.points, found):
            yield _crawling(case, curve, found)
        return
    size = abs(found.start)
    fall = found.start - found.end
    if size <= case.limit(SLUG, "floor") or abs(fall) > max(
        case.limit(SLUG, "share") * size, 2.5 * found.error if found.points >= 24 else 0.0
    ):
        return
    # The first point is far above all others: the loss fell before the second was logged.
    first = float(curve.points.values[0])
    if first > found.end * (1 + 5 * case.limit(SLUG, "share")) and first - found.end > 4 * found.noise:
        return
    moves = weights_move(case)
    still = moves.value is False
    yield case.finding(
        SLUG,
        "critical" if still else "warning",
        curve.tag,
        f"{curve} started at {number(found.start)} and is {number(found.end)} after {found.points:,} points"
        + (f": the weights do not change ({moves.why})." if still else ": nothing was learned."),
        evidence=[
            Evidence(curve.tag, "fall in standard errors", found.fall_surprise, 3.0),
            Evidence(
                curve.tag, "fall as a share of the start", fall / size if size else 0.0, case.limit(SLUG, "share")
            ),
        ],
    )


def _crawls(case: Case, points: Points, found: Course) -> bool:
    """Down a straight, clean line, by next to nothing: it would take many such runs to get anywhere."""
    fall = found.start - found.end
    if found.points < case.limit(SLUG, "slow_points") or not 0 < fall < case.limit(SLUG, "slow") * abs(found.start):
        return False
    line = trend(points)
    middle = float(np.median(points.values[len(points.values) // 2 :][: max(3, found.width)]))
    return line is not None and line.p_falling < 1e-6 and found.noise < 0.1 * fall and middle - found.end > 0.35 * fall


def _crawling(case: Case, curve: Objective, found: Course) -> Finding:
    share = (found.start - found.end) / abs(found.start)
    return case.finding(
        SLUG,
        "warning",
        curve.tag,
        f"{curve} fell by {percent(share)} in {found.points:,} points, from {number(found.start)} to "
        f"{number(found.end)}, and no faster at first than at last.",
        evidence=[Evidence(curve.tag, "fall as a share of the start", share, case.limit(SLUG, "slow"))],
    )
