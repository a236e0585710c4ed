"""Batch outlier: single points of the loss far above their neighbors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import episodes
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.stats.noise import noise_scale, running_median


@detector(id="batch-outlier", reads="train.loss")
def batch_outlier(case: Case) -> Iterator[Finding]:
    """Points far above the running median, measured in noise widths, outside any longer episode."""
    loss = case.need("train.loss", points=32)
    steps, values = loss.points() if loss.block_points == 1 else loss.tail
    finite = np.isfinite(values)
    steps, values = steps[finite], values[finite]
    if len(values) < 32:
        return
    level = running_median(values, 16)
    scale = noise_scale(values[len(values) // 4 :])
    height = values - np.concatenate([[values[0]], level[:-1]])
    limit = case.limit("batch-outlier", "noise_widths")
    far = (height > limit * scale) & (height > case.limit("batch-outlier", "share") * np.abs(level))
    far &= steps > case.warm_up_step
    for episode in episodes(case, loss):
        far &= ~((steps >= episode.alarm.first_step) & (steps <= (episode.alarm.end_step or steps[-1])))
    at = np.flatnonzero(far)
    if not len(at) or scale <= 0:
        return
    worst = int(at[np.argmax(height[at])])
    yield case.finding(
        "batch-outlier",
        "info",
        loss,
        f"{loss.tag} jumped to {number(float(values[worst]))} at step {steps[worst]:,} and was back to normal at the "
        "next point." + (f" There are {len(at):,} such points." if len(at) > 1 else ""),
        first_step=int(steps[at[0]]),
        last_step=int(steps[at[-1]]),
        evidence=[Evidence(loss.tag, "height in noise widths", float(height[worst] / scale), limit, int(steps[worst]))],
    )
