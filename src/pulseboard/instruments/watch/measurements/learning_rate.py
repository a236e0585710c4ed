"""Learning rate of each parameter group."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement


@measurement(
    id="learning_rate",
    every=100,
    metrics={
        "train/learning_rate/base_lr": Metric("1", "learning rate of the first parameter group", "as scheduled"),
        "train/learning_rate/param_group_{i}": Metric("1", "learning rate of parameter group i", "as scheduled"),
    },
)
class LearningRate(Measurement):
    """Read from the optimizer, so any scheduler is covered."""

    def after_step(self) -> dict[str, Any]:
        """The rates in force."""
        optimizer = self.training.optimizer
        groups = optimizer.param_groups if optimizer is not None else []
        values = {f"train/learning_rate/param_group_{i}": group["lr"] for i, group in enumerate(groups)}
        return {"train/learning_rate/base_lr": groups[0]["lr"], **values} if groups else {}
