"""Overhead: the share of training time that watching takes."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement


@measurement(
    id="overhead",
    every=100,
    metrics={
        "pulseboard/overhead": Metric("1", "measured share of time spent on all of this", "the budget or less"),
    },
)
class Overhead(Measurement):
    """Measured by the schedule, since the last measurement."""

    def after_step(self) -> dict[str, Any]:
        """The measured share."""
        return {"pulseboard/overhead": self.training.schedule.overhead()}
