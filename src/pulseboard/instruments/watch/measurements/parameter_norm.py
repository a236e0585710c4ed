"""Parameter norm: the norm of all parameters."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement
from pulseboard.instruments.watch.shards import local


@measurement(
    id="parameter_norm",
    every=100,
    metrics={
        "train/total_param_norm": Metric("1", "L2 norm of all parameters", "grows slowly, then stays level"),
    },
)
class ParameterNorm(Measurement):
    """Frozen parameters count too."""

    def after_step(self) -> dict[str, Any]:
        """The norm after the update."""
        parameters = self.training.parameters
        if not parameters.all:
            return {}
        return self.training.of_whole_model(
            self.id,
            lambda sums, _: {"train/total_param_norm": sums[0].sqrt()},
            sums=[parameters.square_sum(parameters.all, [local(p.detach()) for _, p in parameters.all])],
        )
