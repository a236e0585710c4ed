"""Loss flat: the loss has not come down."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.learning import learning, weights_move
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.phrases import number

SLUG = "loss-flat"


@detector(id=SLUG, reads="train.loss|loss.components")
def loss_flat(case: Case) -> Iterator[Finding]:
    """No fall beyond the noise, and no other curve improved. Critical if the weights do not change."""
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None or found.points < case.patient(case.limit(SLUG, "points")):
        raise TooShort(f"needs {case.limit(SLUG, 'points'):.0f} points of a training loss")
    if may_rise(case) or learning(case).value is not False:
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
