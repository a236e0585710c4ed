"""Loss drift up: the loss rises slowly over the last half of the run."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points

SLUG = "loss-drift-up"


@detector(id=SLUG, reads="train.loss")
def loss_drift_up(case: Case) -> Iterator[Finding]:
    """A clear upward trend that undoes part of what was learned."""
    curve, found = objective(case).value, loss_course(case).value
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
        "warning",
        curve.tag,
        f"{curve} has slowly risen {percent(share)} since step {first}, from {number(line.start)} to "
        f"{number(line.end)}.",
        first_step=first,
        evidence=[
            Evidence(curve.tag, "rise as a share of the level", share, case.limit(SLUG, "rise"), first),
            Evidence(curve.tag, "rise as a share of the gain", lost, case.limit(SLUG, "lost"), first),
        ],
    )
