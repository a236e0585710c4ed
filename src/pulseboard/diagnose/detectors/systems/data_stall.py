"""Data stall: steps spend much of their time waiting for data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import digits_of, percent


@detector(id="data-stall", reads=("time.data", "time.step|time.interval"))
def data_stall(case: Case) -> Iterator[Finding]:
    """The median share of step time spent waiting, after warm-up; of the last quarter if it is over half there."""
    data = case.need("time.data", points=5)
    step = case.need("time.step" if case.one("time.step") is not None else "time.interval", points=5)
    steps, waits = data.points()  # single points: means would hide that waits come at the start of epochs
    later = steps > case.warm_up_step
    # Equal to the only digit that was logged: too coarse to tell a tenth of a step.
    coarse = later.any() and float(np.ptp(waits[later])) == 0.0 and digits_of(float(waits[later][0])) == 1
    if later.sum() < 5 or coarse:
        return
    shares = waits[later] / np.maximum(np.interp(steps[later], *step.points()), 1e-12)
    if data.tag.endswith("%)"):
        shares = waits[later] / 100.0
    limit, severe = case.limit("data-stall", "share"), case.limit("data-stall", "severe_share")
    share, late = float(np.median(shares)), shares[-(len(shares) // 4) :]
    if len(shares) >= 48 and (now := float(np.median(late))) > severe:
        share = now  # the stall started later
    notable = case.limit("data-stall", "warning_share")
    # Logs that print the first batch of each epoch see every wait there is, and few steps without one.
    if share <= limit or float((shares[-3 * len(shares) // 4 :] < 0.5 * share).mean()) > 0.2:
        return
    high = np.flatnonzero(shares > (severe if share > severe else limit))
    yield case.finding(
        "data-stall",
        "critical" if share > severe else "warning" if share > notable else "info",
        data,
        f"{percent(min(share, 1.0))} of the step time is spent waiting for data ({data.tag}).",
        first_step=int(steps[later][high[0]]),
        evidence=[Evidence(data.tag, "share of the step time", share, limit, int(steps[-1]))],
    )
