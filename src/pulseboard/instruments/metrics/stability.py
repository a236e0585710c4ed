"""Stability: how a loss behaved over the last steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import largest, scalar, smallest
from pulseboard.instruments.math.window import Window
from pulseboard.instruments.registry import instrument
from pulseboard.record.arrays import is_tensor


@instrument(
    id="stability",
    every=1,
    metrics={
        "train/stability/loss_smoothness": Metric(
            "1", "variance of the loss over the window", "0.5 at first, then 0.1 or less"
        ),
        "train/stability/loss_trend_slope": Metric(
            "1/step", "slope of a line fitted to the window's losses", "below 0, approaching 0 over time"
        ),
        "train/stability/loss_spike_ratio": Metric(
            "1", "largest loss of the window over the smallest", "below 1.5; more is a spike"
        ),
        "train/stability/val_train_loss_ratio": Metric(
            "1", "latest validation loss over the window's mean loss", "below 1.1; more may be overfitting"
        ),
    },
)
class Stability:
    """Call it at every step with the loss. A NaN affects the values until it leaves the window."""

    def __init__(self, *, window_steps: int = 100, prefix: str = "train") -> None:
        self.prefix = prefix
        self._window = Window(window_steps)
        self._validation: Any = None

    def __call__(self, loss: Any, *, validation_loss: Any = None) -> dict[str, Any]:
        """The slope is returned from the second step on, the ratio once there has been a validation loss."""
        self._window.add(loss)
        if validation_loss is not None:
            self._validation = scalar(validation_loss)
        losses = self._window.values()
        level = losses.mean()
        found = {
            "loss_smoothness": ((losses - level) ** 2).mean(),
            "loss_spike_ratio": largest(losses) / smallest(losses),
        }
        if len(losses) > 1:
            found["loss_trend_slope"] = _slope(losses - level)
        if self._validation is not None:
            found["val_train_loss_ratio"] = self._validation / level
        return {f"{self.prefix}/stability/{name}": value for name, value in found.items()}


def _slope(centered: Any) -> Any:
    """Least squares over steps 0, 1, 2, …: the sum of x times y over the sum of x times x, both centered."""
    count = len(centered)
    steps = centered.new_ones(count).cumsum(0) if is_tensor(centered) else np.arange(1.0, count + 1)
    steps = steps - (count + 1) / 2
    return (steps * centered).sum() / (count * (count * count - 1) / 12)
