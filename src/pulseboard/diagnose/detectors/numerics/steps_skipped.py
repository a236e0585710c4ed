"""Steps skipped: steps that mixed precision skipped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.stats.proportion import least_rate


@detector(id="steps-skipped", reads="amp.skipped")
def steps_skipped(case: Case) -> Iterator[Finding]:
    """A share of the steps after warm-up that is above the threshold with statistical confidence."""
    skipped = case.need("amp.skipped", points=5)
    steps, values = skipped.points()
    later = steps > case.warm_up_step
    steps, values = steps[later], values[later]
    if len(steps) < 5:
        return
    if values.max() > 1 and (np.diff(values) >= 0).all():  # a count that grows
        trials, count = int(steps[-1] - steps[0]), round(float(values[-1] - values[0]))
    else:  # 1 at the steps that were skipped
        trials, count = len(values), int((values > 0).sum())
    share = least_rate(min(count, trials), trials)
    limit = case.limit("steps-skipped", "share")
    if share <= limit:
        return
    yield case.finding(
        "steps-skipped",
        "warning",
        skipped,
        f"{count} of {trials} steps after warm-up were skipped because their gradients overflowed.",
        first_step=int(steps[0]),
        evidence=[Evidence(skipped.tag, "share of steps skipped (lower bound)", share, limit, int(steps[-1]))],
    )
