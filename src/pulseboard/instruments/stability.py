"""Stability: what the last steps of a loss look like."""

from __future__ import annotations

from typing import Any

import numpy as np

from pulseboard.instruments.arrays import largest, scalar, smallest
from pulseboard.instruments.declare import Metric, instrument
from pulseboard.instruments.window import Window
from pulseboard.record.arrays import is_tensor


@instrument(
    id="stability",
    every=1,
    metrics={
        "train/stability/loss_smoothness": Metric(
            "1", "variance of the loss over the window", "0.5 at first, then 0.1 and less"
        ),
        "train/stability/loss_trend_slope": Metric(
            "1/step", "slope of the line that fits the window's losses best", "below 0, and nearer to 0 with time"
        ),
        "train/stability/loss_spike_ratio": Metric(
            "1", "largest loss of the window over the smallest", "below 1.5; more is a spike"
        ),
        "train/stability/val_train_loss_ratio": Metric(
            "1", "newest validation loss over the window's mean loss", "below 1.1; more may be overfitting"
        ),
    },
)
class Stability:
    """Call it each step with the loss. A NaN shows until it has left the window."""

    def __init__(self, *, window_steps: int = 100, prefix: str = "train") -> None:
        self.prefix = prefix
        self._window = Window(window_steps)
        self._validation: Any = None

    def __call__(self, loss: Any, *, validation_loss: Any = None) -> dict[str, Any]:
        """The slope comes from the second step on; the ratio to a validation loss once there was one."""
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


def _slope(falls: Any) -> Any:
    """Least squares over steps 0, 1, 2, …: the sum of x times y over the sum of x times x, about their means."""
    count = len(falls)
    steps = falls.new_ones(count).cumsum(0) if is_tensor(falls) else np.arange(1.0, count + 1)
    steps = steps - (count + 1) / 2
    return (steps * falls).sum() / (count * (count * count - 1) / 12)
