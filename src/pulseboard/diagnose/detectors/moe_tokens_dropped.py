"""MoE tokens dropped: experts are full, and tokens pass by."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="moe-tokens-dropped", reads="moe.dropped")
def moe_tokens_dropped(case: Case) -> Iterator[Finding]:
    """The share over the last part of the run, after warm-up."""
    track = case.need("moe.dropped", points=5)
    steps, values = track.points(most=512)
    later = steps > case.warm_up_step
    if later.sum() < 5:
        return
    last = values[later][-max(5, int(later.sum()) // 2) :] / (100.0 if track.high > 1.0 else 1.0)
    # Nearly all of them, so that a few full batches are not taken for a rule.
    level, limit = float(np.quantile(last, 0.1)), case.limit("moe-tokens-dropped", "share")
    if level <= limit:
        return
    yield case.finding(
        "moe-tokens-dropped",
        "warning",
        track,
        f"{100 * float(np.median(last)):.0f} % of the tokens find no room at their expert ({track.tag}).",
        first_step=int(steps[later][0]),
        evidence=[Evidence(track.tag, "share of tokens dropped, lately", level, limit, int(steps[-1]))],
    )
