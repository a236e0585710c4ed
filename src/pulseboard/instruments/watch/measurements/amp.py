"""AMP: the loss scale of mixed precision, and the steps that overflow skipped."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement
from pulseboard.instruments.watch.training import Training


@measurement(
    id="amp",
    every=100,
    metrics={
        "amp/loss_scale": Metric("1", "loss scale of mixed precision, with `scaler=`", "steady after the start"),
        "amp/skipped_steps": Metric("steps", "steps skipped so far because of overflow", "a few at the start"),
    },
)
class Amp(Measurement):
    """Needs the GradScaler. The scale falls each time a step is skipped; the device counts how often."""

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        self._previous_scale: Any = None
        self._skipped_steps: Any = None

    def forward_begins(self) -> None:
        """Count a fall of the scale since the last forward pass."""
        scale = self._scale()
        if scale is None:
            return
        if self._previous_scale is not None:
            fell = (scale < self._previous_scale).float()
            self._skipped_steps = fell if self._skipped_steps is None else self._skipped_steps + fell
        self._previous_scale = scale

    def after_step(self) -> dict[str, Any]:
        """The scale, and the number of skipped steps."""
        scale = self._scale()
        if scale is None:
            return {}
        values = {"amp/loss_scale": scale}
        if self._skipped_steps is not None:
            values["amp/skipped_steps"] = self._skipped_steps
        return values

    def _scale(self) -> Any:
        """The scale as a 0-d tensor on its device; `get_scale` would wait for it."""
        scale = getattr(self.training.scaler, "_scale", None)
        return None if scale is None else scale.detach().clone()
