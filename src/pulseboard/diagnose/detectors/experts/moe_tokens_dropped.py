"""MoE tokens dropped: experts are at capacity and drop tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent


@detector(id="moe-tokens-dropped", reads="moe.dropped")
def moe_tokens_dropped(case: Case) -> Iterator[Finding]:
    """The share of dropped tokens in the second half of the run, after warm-up."""
    track = case.need("moe.dropped", points=5)
    steps, values = track.points(most=512)
    later = steps > case.warm_up_step
    if later.sum() < 5:
        return
    last = values[later][-max(5, int(later.sum()) // 2) :] / (100.0 if track.high > 1.0 else 1.0)
    # A low quantile, so that nearly all points are above and a few full batches do not count.
    level, limit = float(np.quantile(last, 0.1)), case.limit("moe-tokens-dropped", "share")
    if level <= limit:
        return
    yield case.finding(
        "moe-tokens-dropped",
        "warning",
        track,
        f"{percent(float(np.median(last)))} of the tokens are dropped because their expert is full ({track.tag}).",
        first_step=int(steps[later][0]),
        evidence=[Evidence(track.tag, "share of tokens dropped, 10th percentile", level, limit, int(steps[-1]))],
    )
