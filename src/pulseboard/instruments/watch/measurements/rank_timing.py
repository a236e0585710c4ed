"""Rank timing: the time each rank spends on a step."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement


@measurement(
    id="timing",
    every=1,
    per_rank=True,
    metrics={
        "rank/step_time": Metric("s", "per rank: time of the step", "equal on all ranks"),
        "rank/forward_time": Metric("s", "per rank: time of its forward passes", "equal; more on a slow rank"),
        "rank/data_time": Metric("s", "per rank: time spent waiting for data", "equal and small"),
    },
)
class RankTiming(Measurement):
    """A slow rank has a longer forward pass; the others wait for it in backward."""

    def after_step(self) -> dict[str, Any]:
        """Times of the newest step; nothing before the second."""
        clock = self.training.clock
        if not clock.step_secs:
            return {}
        return {
            "rank/step_time": clock.step_secs,
            "rank/forward_time": clock.forward_secs,
            "rank/data_time": clock.data_secs,
        }
