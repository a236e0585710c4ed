"""Update too small: the weights barely change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number


@detector(id="update-too-small", reads="update.ratio")
def update_too_small(case: Case) -> Iterator[Finding]:
    """The median after warm-up, while the learning rate has not decayed."""
    update = case.need("update.ratio", points=3)
    steps, values = update.points(most=512)
    later = steps > case.warm_up_step
    rate = case.one("lr")
    if rate is not None and rate.finite_count >= 3:
        rate_steps, rates = rate.points(most=512)
        high = np.interp(steps, rate_steps, rates) > 0.3 * rates.max()
        later &= high
    if later.sum() < 3:
        return
    level, limit = float(np.median(values[later])), case.limit("update-too-small", "ratio")
    if not 0.0 < level < limit:
        return
    yield case.finding(
        "update-too-small",
        "warning",
        update,
        f"{update.tag} is only {number(level)} after warm-up: the weights barely change (about 0.001 is usual).",
        first_step=int(steps[later][0]),
        evidence=[Evidence(update.tag, "median after warm-up", level, limit, int(steps[later][-1]), on_curve=True)],
    )
