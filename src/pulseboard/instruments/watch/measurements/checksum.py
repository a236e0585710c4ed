"""Checksum of the parameters, to see ranks drift apart."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement


@measurement(
    id="checksum",
    every=500,
    per_rank=True,
    metrics={
        "rank/param_checksum": Metric(
            "1", "per rank: a number that is equal for equal parameters; not for sharded models", "equal"
        ),
    },
)
class Checksum(Measurement):
    """Equal on every rank of a replicated model, and different on ranks that have drifted apart."""

    def after_step(self) -> dict[str, Any]:
        """The norms of all tensors, weighted by their position."""
        torch, parameters = self.training.torch, self.training.parameters
        if parameters.shards.sharded or not parameters.all:
            return {}
        norms = torch.stack(parameters.on_one_device(torch._foreach_norm([p.detach() for _, p in parameters.all])))
        weights = torch.arange(1, len(norms) + 1, device=norms.device, dtype=norms.dtype)
        return {"rank/param_checksum": (norms * weights).sum()}
