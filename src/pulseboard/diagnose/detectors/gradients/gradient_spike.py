"""Gradient spike: the gradient norm jumped far above its recent level and came back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import count, number, times
from pulseboard.diagnose.stats.noise import running_median
from pulseboard.diagnose.track import Floats


@detector(id="gradient-spike", reads="gradient.norm")
def gradient_spike(case: Case) -> Iterator[Finding]:
    """Points far above the median before them, after warm-up. Info, since clipping absorbs most spikes; a warning if
    only a few points spike, and very high."""
    norm = case.need("gradient.norm", points=48)
    steps, values = norm.points() if norm.block_points == 1 else norm.tail
    finite = np.isfinite(values)
    steps, values = steps[finite], values[finite]
    if len(values) < 48:
        return
    level = np.concatenate([[values[0]], running_median(values, 32)[:-1]])
    limit = case.limit("gradient-spike", "times")
    high = (values > limit * level) & (steps > case.warm_up_step) & (np.arange(len(values)) >= 32)
    # If the norm stays high it is not a spike: the median of the points after must be back down.
    at = np.array([i for i in np.flatnonzero(high) if _is_back(values, int(i), below=0.5 * limit * level[i])], np.int64)
    if not len(at):
        return
    worst = int(at[np.argmax(values[at] / level[at])])
    height = float(values[worst] / level[worst])
    rare = len(at) <= case.limit("gradient-spike", "rare")
    yield case.finding(
        "gradient-spike",
        "warning" if rare and height >= case.limit("gradient-spike", "severe_times") else "info",
        norm,
        f"{norm.tag} jumped from {number(float(level[worst]))} to {number(float(values[worst]))} ({times(height)}) at "
        f"step {steps[worst]:,} and came back"
        + (f", the largest of {count(len(at), 'spike')}." if len(at) > 1 else "."),
        first_step=int(steps[at[0]]),
        last_step=int(steps[at[-1]]),
        evidence=[Evidence(norm.tag, "norm relative to its recent level", height, limit, int(steps[worst]))],
    )


def _is_back(values: Floats, at: int, *, below: float) -> bool:
    after = values[at + 1 : at + 9]
    return len(after) >= 3 and float(np.median(after)) < below
