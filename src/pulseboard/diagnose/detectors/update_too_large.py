"""Update too large: each step moves the weights by a large share of their size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.statistics.trend import trend
from pulseboard.diagnose.track import Points


@detector(id="update-too-large", reads="update.ratio")
def update_too_large(case: Case) -> Iterator[Finding]:
    """Above the limit for a good part of the run after warm-up. Info where SGD surely makes the loss fall meanwhile.

    Adam's steps are as large as its rate whatever the gradient is. SGD's are large where the gradient is.
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
            f"{update.tag} is {away.ratio:.2g} times that of {away.runs} earlier runs.",
            first_step=round(away.first_x),
            last_step=round(away.last_x),
            evidence=[Evidence(update.tag, "level, over that of earlier runs", away.ratio, times)],
        )
        return
    above = values > limit
    share, least = float(above.mean()), case.limit("update-too-large", "share_of_run")
    if share < least:
        return
    level = float(np.median(values[above]))
    first = int(steps[int(np.argmax(above))])
    mild = case.context.adaptive is False and level < case.limit("update-too-large", "grave_ratio")
    grave = not (mild and _falls(case, first))
    effect = "steps of this size undo each other" if grave else "the loss falls all the same"
    yield case.finding(
        "update-too-large",
        "warning" if grave else "info",
        update,
        f"{update.tag} is about {level:.2g} over {100 * share:.0f} % of the run: {effect}.",
        first_step=first,
        evidence=[Evidence(update.tag, "median of the high points", level, limit, first)],
    )


def _falls(case: Case, first: int) -> bool:
    """Whether the loss goes down from a step on."""
    loss = case.one("train.loss")
    if loss is None:
        return False
    steps, values = loss.points(most=512)
    line = trend(Points(steps[steps >= first], values[steps >= first]))
    return line is not None and line.p_falling < 1e-6
