"""Loss diverged: the loss has turned and stays far above its best."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, window_points
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.statistics.rise import Rise, rise_from_best
from pulseboard.diagnose.track import Points, Track


def moving_target(case: Case) -> bool:
    """Whether the loss is measured against targets that the model itself makes: it may rise in health."""
    return any(case.every(role) for role in ("ema.momentum", "ema.distance", "collapse.std", "loss.relative"))


def divergence(case: Case, track: Track) -> Rise | None:
    """The rise of a loss above its best that is sure and large enough to matter."""
    steps, values = _since_the_last_plan(case, track.points(most=512))
    if len(values) < case.limit("loss-diverged", "points"):
        return _short_divergence(case, Points(steps, values))
    later = steps >= case.warm_up_step
    points = Points(steps[later], values[later])
    width = window_points(len(points.values))
    rise = rise_from_best(points, width=width, least_surprise=case.limit("loss-diverged", "surprise"))
    if rise is None or rise.share < case.limit("loss-diverged", "share"):
        return None
    fallen = abs(float(values[0]) - rise.best)
    if rise.level - rise.best < case.limit("loss-diverged", "share_of_fall") * fallen:
        return None
    return rise


def _since_the_last_plan(case: Case, points: Points) -> Points:
    """The points after the last change that the user declared: a new phase is measured by itself."""
    last = max((step for step, _ in case.context.declared_changes), default=None)
    if last is None:
        return points
    later = points.steps > last
    return Points(points.steps[later], points.values[later])


def _short_divergence(case: Case, points: Points) -> Rise | None:
    """In a handful of points noise cannot be told from course: only a loss far above where it began counts."""
    steps, values = points
    if len(values) < 6:
        return None
    best, level = int(np.argmin(values)), float(np.median(values[-max(3, len(values) // 3) :]))
    far = case.limit("loss-diverged", "short_times")
    if values[best] <= 0 or level < far * float(values[best]) or level <= float(values[0]) or best >= len(values) - 3:
        return None
    since = best + int(np.argmax(values[best:] > far * values[best]))
    return Rise(float(values[best]), int(steps[best]), int(steps[since]), level, float("inf"))


@detector(id="loss-diverged", reads="train.loss")
def loss_diverged(case: Case) -> Iterator[Finding]:
    """Critical where half of what was learned is lost, or more."""
    loss = case.need("train.loss", points=6)
    if moving_target(case):
        return
    rise = divergence(case, loss)
    if rise is None:
        return
    start = float(loss.points(most=512).values[0])
    lost = rise.level - rise.best >= case.limit("loss-diverged", "lost") * max(start - rise.best, 0.0)
    yield case.finding(
        "loss-diverged",
        "critical" if lost else "warning",
        loss,
        f"{loss.tag} was {rise.best:.4g} at step {rise.best_step} and is {rise.level:.4g} now: it has turned, "
        f"surely from step {rise.since_step} on.",
        first_step=rise.since_step,
        evidence=[
            Evidence(loss.tag, "rise above its best, as a share of it", rise.share, None, rise.since_step),
        ],
    )
