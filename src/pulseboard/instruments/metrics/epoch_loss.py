"""Epoch loss: the mean of the losses since the epoch began."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import floats
from pulseboard.instruments.registry import instrument


@instrument(
    id="epoch_loss",
    every=1,
    metrics={
        "train/loss": Metric("1", "loss of the batch", "falls fast at first, then slowly and steadily"),
        "train/epoch_loss": Metric("1", "mean loss of the epoch so far", "falls like train/loss, but smoother"),
    },
)
class EpochLoss:
    """Call it at every step with the batch's loss, and call `begin_epoch` between epochs."""

    def __init__(self, *, prefix: str = "train") -> None:
        self.prefix = prefix
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Start a new mean."""
        self._mean: Any = 0.0
        self._samples = 0.0

    def __call__(self, loss: Any, *, samples: float = 1) -> dict[str, Any]:
        """`samples` is the weight of the batch in the mean."""
        value = floats(loss).reshape(())
        self._samples += samples
        # A running mean, not a sum: float32 keeps its precision however long the epoch is.
        if self._samples > 0:
            self._mean = (value - self._mean) * (samples / self._samples) + self._mean
        return {f"{self.prefix}/loss": value, f"{self.prefix}/epoch_loss": self._mean}
