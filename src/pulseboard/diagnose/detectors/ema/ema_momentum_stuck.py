"""EMA momentum stuck: the target network stopped updating."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent


@detector(id="ema-momentum-stuck", reads="ema.momentum")
def ema_momentum_stuck(case: Case) -> Iterator[Finding]:
    """A momentum of 1 before the planned end: the target no longer follows the trained network."""
    momentum = case.need("ema.momentum", points=3)
    steps, values = momentum.points(most=512)
    ones = values >= 1.0 - 1e-9
    if not ones.any():
        return
    whole = case.planned_steps or int(steps[-1])
    first = int(steps[int(np.argmax(ones))])
    share, limit = float(ones.mean()), case.limit("ema-momentum-stuck", "share_of_run")
    # A schedule that ends at 1 reaches it only in its last steps.
    if share <= limit or first > 0.9 * whole:
        return
    yield case.finding(
        "ema-momentum-stuck",
        "critical",
        momentum,
        f"{momentum.tag} has been 1 since step {first:,} ({percent(share)} of the run), so the target network no "
        "longer "
        "updates.",
        first_step=first,
        evidence=[Evidence(momentum.tag, "share of the run at 1", share, limit, first)],
    )
