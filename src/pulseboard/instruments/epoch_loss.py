"""Epoch loss: the mean of the losses since the epoch began."""

from __future__ import annotations

from typing import Any

from pulseboard.instruments.arrays import floats
from pulseboard.instruments.declare import Metric, instrument


@instrument(
    id="epoch_loss",
    every=1,
    metrics={
        "train/loss": Metric("1", "loss of the batch", "falls fast at first, then slowly and steadily"),
        "train/epoch_loss": Metric("1", "mean loss of the epoch so far", "falls as train/loss does, and is smoother"),
    },
)
class EpochLoss:
    """Call it each step with the batch's loss, and `begin_epoch` between epochs."""

    def __init__(self, *, prefix: str = "train") -> None:
        self.prefix = prefix
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Forget what was seen."""
        self._mean: Any = 0.0
        self._samples = 0.0

    def __call__(self, loss: Any, *, samples: float = 1) -> dict[str, Any]:
        """`samples` is what the batch counts in the mean."""
        value = floats(loss).reshape(())
        self._samples += samples
        # Moved towards the newest, not summed: float32 keeps its digits however long the epoch.
        if self._samples > 0:
            self._mean = (value - self._mean) * (samples / self._samples) + self._mean
        return {f"{self.prefix}/loss": value, f"{self.prefix}/epoch_loss": self._mean}
