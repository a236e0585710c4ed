"""Update too large: each step moves the weights by a large share of their size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="update-too-large", reads="update.ratio")
def update_too_large(case: Case) -> Iterator[Finding]:
    """Above the limit for a good part of the run after warm-up."""
    update = case.need("update.ratio", points=6)
    steps, values = update.points(most=512)
    later = steps > case.warm_up_step
    steps, values = steps[later], values[later]
    if len(values) < 5:
        return
    limit = case.limit("update-too-large", "ratio")
    above = values > limit
    share, least = float(above.mean()), case.limit("update-too-large", "share_of_run")
    if share < least:
        return
    level = float(np.median(values[above]))
    first = int(steps[int(np.argmax(above))])
    yield case.finding(
        "update-too-large",
        "warning",
        update,
        f"{update.tag} is about {level:.2g} over {100 * share:.0f} % of the run: steps of this size undo each other.",
        first_step=first,
        evidence=[Evidence(update.tag, "median of the high points", level, limit, first)],
    )
