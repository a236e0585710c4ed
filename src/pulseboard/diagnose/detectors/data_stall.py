"""Data stall: training waits for data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="data-stall", reads=("time.data", "time.step"))
def data_stall(case: Case) -> Iterator[Finding]:
    """The share of a step spent waiting: its median after warm-up, or of the last quarter where it is most of it."""
    data, step = case.need("time.data", points=5), case.need("time.step", points=5)
    steps, waits = data.points(most=512)
    later = steps > case.warm_up_step
    if later.sum() < 5:
        return
    shares = waits[later] / np.maximum(np.interp(steps[later], *step.points(most=512)), 1e-12)
    if data.tag.endswith("%)"):
        shares = waits[later] / 100.0
    limit, grave = case.limit("data-stall", "share"), case.limit("data-stall", "grave_share")
    share, late = float(np.median(shares)), shares[-(len(shares) // 4) :]
    if len(shares) >= 48 and (now := float(np.median(late))) > grave:
        share = now  # it came later
    notable = case.limit("data-stall", "warning_share")
    if share <= limit:
        return
    high = np.flatnonzero(shares > (grave if share > grave else limit))
    yield case.finding(
        "data-stall",
        "critical" if share > grave else "warning" if share > notable else "info",
        data,
        f"{100 * min(share, 1.0):.0f} % of a step is waiting for data ({data.tag}).",
        first_step=int(steps[later][high[0]]),
        evidence=[Evidence(data.tag, "share of a step", share, limit, int(steps[-1]))],
    )
