"""Relative loss rising: the loss rises relative to the variance of its targets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, window_points
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.stats.rise import rise_from_best
from pulseboard.diagnose.track import Points


@detector(id="relative-loss-rising", reads="loss.relative|target.variance")
def relative_loss_rising(case: Case) -> Iterator[Finding]:
    """The rise above its best of the loss divided by the target variance, not of the loss itself."""
    track = case.one("loss.relative")
    if track is not None:
        points = track.points(most=512)
        tag = track.tag
    else:
        loss, variance = case.one("train.loss"), case.need("target.variance", points=8)
        if loss is None or loss.finite_count < 2:
            return
        steps, variances = variance.points(most=512)
        losses = np.interp(steps, *loss.points(most=2048))
        some = variances > 0
        points, tag = Points(steps[some], losses[some] / variances[some]), loss.tag
    later = points.steps > case.warm_up_step
    points = Points(points.steps[later], points.values[later])
    if len(points.values) < 16:
        return
    rise = rise_from_best(
        points, width=window_points(len(points.values)), least_surprise=case.limit("relative-loss-rising", "surprise")
    )
    limit = case.limit("relative-loss-rising", "share")
    if rise is None or rise.share < limit:
        return
    yield case.finding(
        "relative-loss-rising",
        "warning",
        tag,
        f"The loss relative to its target variance was best at step {rise.best_step:,} ({number(rise.best)}) and has "
        f"risen {percent(rise.share)} to {number(rise.level)}.",
        first_step=rise.since_step,
        evidence=[Evidence(tag, "rise above its best, relative to the best", rise.share, limit, rise.since_step)],
    )
