"""Update too large: each step changes the weights by a large fraction of their size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import count, number, percent
from pulseboard.diagnose.phrases import times as multiple
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points


@detector(id="update-too-large", reads="update.ratio")
def update_too_large(case: Case) -> Iterator[Finding]:
    """Above the limit for much of the run after warm-up. Info if SGD clearly lowers the loss meanwhile.

    The size of Adam's steps depends only on the learning rate; SGD's steps scale with the gradient.
    """
    update = case.need("update.ratio", points=6)
    steps, values = update.points(most=512)
    later = steps > case.warm_up_step
    steps, values = steps[later], values[later]
    if len(values) < 5:
        return
    limit = case.limit("update-too-large", "ratio")
    away = case.departure("update.ratio")
    if away is not None and away.lasting and away.ratio > (times := case.limit("update-too-large", "times_earlier")):
        yield case.finding(
            "update-too-large",
            "warning",
            update,
            f"{update.tag} is {multiple(away.ratio)} as large as in {count(away.runs, 'earlier run')}.",
            first_step=round(away.first_x),
            last_step=round(away.last_x),
            evidence=[Evidence(update.tag, "level relative to earlier runs", away.ratio, times)],
        )
        return
    above = values > limit
    share, least = float(above.mean()), case.limit("update-too-large", "share_of_run")
    if share < least:
        return
    level = float(np.median(values[above]))
    first = int(steps[int(np.argmax(above))])
    mild = case.context.adaptive is False and level < case.limit("update-too-large", "severe_ratio")
    harmful = not (mild and _falls(case, first))
    effect = "steps this large undo each other" if harmful else "the loss keeps falling, so it may do no harm"
    yield case.finding(
        "update-too-large",
        "warning" if harmful else "info",
        update,
        f"{update.tag} is about {number(level)} for {percent(share)} of the run (over {limit:g} is high): {effect}.",
        first_step=first,
        evidence=[Evidence(update.tag, "median of the high points", level, limit, first, on_curve=True)],
    )


def _falls(case: Case, first: int) -> bool:
    """Whether the loss clearly falls from a step on."""
    loss = case.one("train.loss")
    if loss is None:
        return False
    steps, values = loss.points(most=512)
    line = trend(Points(steps[steps >= first], values[steps >= first]))
    return line is not None and line.p_falling < 1e-6
