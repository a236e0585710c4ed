"""MoE imbalance: a few experts get most of the tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import times


@detector(id="moe-imbalance", reads="moe.imbalance")
def moe_imbalance(case: Case) -> Iterator[Finding]:
    """The load of the busiest expert relative to the average, at the end of the run, in the worst layer."""
    limit, notable = case.limit("moe-imbalance", "ratio"), case.limit("moe-imbalance", "info_ratio")
    worst: tuple[float, str, int] | None = None
    for track in case.every("moe.imbalance"):
        steps, values = track.points(most=512)
        later = steps > case.warm_up_step
        steps, values = steps[later], values[later]
        if len(values) < case.limit("moe-imbalance", "points"):
            continue
        last = values[-max(5, len(values) // 4) :]
        # Throughout the last part, not just for a moment.
        level = float(np.quantile(last, 0.2))
        high = np.flatnonzero(values > notable)
        worst = max(worst or (0.0, "", 0), (level, track.tag, int(steps[high[0]]) if len(high) else int(steps[-1])))
    if worst is None or worst[0] <= notable:
        return
    level, tag, first = worst
    yield case.finding(
        "moe-imbalance",
        "warning" if level > limit else "info",
        tag,
        f"The busiest expert gets {times(level)} as many tokens as the average one, since step {first:,} ({tag}).",
        first_step=first,
        evidence=[Evidence(tag, "load of the busiest expert relative to the average", level, limit, on_curve=True)],
    )
