"""Gradient flow: the size of the gradients in each part and layer of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement
from pulseboard.instruments.watch.parameters import gradient_values, layer_of, part_of


@measurement(
    id="gradient_flow",
    every=100,
    metrics={
        "train/gradient_flow/{part}_mean": Metric(
            "1", "mean absolute gradient of the part", "above 0; 0 for a frozen part"
        ),
        "train/gradient_flow/{part}_max": Metric("1", "largest absolute gradient of the part", "steady"),
        "train/gradient_flow/{layer}_norm": Metric(
            "1", "L2 norm of the layer's gradients", "within three orders of magnitude from first to last layer"
        ),
    },
)
class GradientFlow(Measurement):
    """Parts without gradients, such as a frozen target encoder, have mean and maximum 0."""

    def before_step(self) -> dict[str, Any]:
        """Mean and maximum by part, norm by layer."""
        torch, parameters = self.training.torch, self.training.parameters
        values: dict[str, Any] = {}
        for part in dict.fromkeys(part_of(name) for name, _ in parameters.all):
            values[f"train/gradient_flow/{part}_mean"] = 0.0
            values[f"train/gradient_flow/{part}_max"] = 0.0
        found = parameters.with_gradients()
        if not found:
            return values
        gradients = [gradient_values(p) for _, p in found]
        squares = parameters.sums_by(layer_of, found, parameters.sums(found, gradients, power=2))
        totals = parameters.sums_by(part_of, found, parameters.sums(found, gradients, power=1))
        parts: dict[str, list[int]] = {}
        for i, (name, _) in enumerate(found):
            parts.setdefault(part_of(name), []).append(i)
        # An empty shard has no largest value; 0 leaves that of the other ranks unchanged.
        not_empty = [g if g.numel() else g.new_zeros(1) for g in gradients]
        largest = parameters.on_one_device(torch._foreach_norm(not_empty, float("inf")))
        counts = {part: max(1, sum(found[i][1].numel() for i in members)) for part, members in parts.items()}

        def finish(sums: Sequence[Any], maxima: Sequence[Any]) -> dict[str, Any]:
            for layer, square in zip(squares, sums, strict=False):
                values[f"train/gradient_flow/{layer}_norm"] = square.sqrt()
            for part, total in zip(totals, sums[len(squares) :], strict=True):
                values[f"train/gradient_flow/{part}_mean"] = total / counts[part]
            for part, value in zip(parts, maxima, strict=True):
                values[f"train/gradient_flow/{part}_max"] = value
            return values

        return self.training.of_whole_model(
            self.id,
            finish,
            sums=[*squares.values(), *totals.values()],
            maxima=[torch.stack([largest[i] for i in members]).max() for members in parts.values()],
        )
