"""Gradient norm: the norm of all gradients."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement
from pulseboard.instruments.watch.parameters import gradient_values


@measurement(
    id="gradient_norm",
    every=1,
    metrics={
        "train/gradient_flow/global_norm": Metric(
            "1", "L2 norm of all gradients as the optimizer sees them, so after clipping", "steady, not growing"
        ),
    },
)
class GradientNorm(Measurement):
    """Nothing is logged for a model without gradients."""

    def before_step(self) -> dict[str, Any]:
        """The norm that the optimizer steps with."""
        parameters = self.training.parameters
        found = parameters.with_gradients()
        if not found:
            return {}
        return self.training.of_whole_model(
            self.id,
            lambda sums, _: {"train/gradient_flow/global_norm": sums[0].sqrt()},
            sums=[parameters.square_sum(found, [gradient_values(p) for _, p in found])],
        )
