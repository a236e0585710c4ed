"""Update: how far one optimizer step moves the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement
from pulseboard.instruments.watch.parameters import part_of
from pulseboard.instruments.watch.shards import local
from pulseboard.instruments.watch.training import Training


@measurement(
    id="update",
    every=100,
    metrics={
        "train/update_ratio": Metric(
            "1", "L2 norm of the step's change over that of the parameters", "about 0.001; 0 means no training"
        ),
        "train/update_ratio/{part}": Metric(
            "1", "the same for one part", "similar across parts; 0 if the optimizer lacks it"
        ),
        "train/learning_rate/avg_param_update": Metric("1", "mean absolute change of a parameter", "falls slowly"),
    },
)
class Update(Measurement):
    """Copies the trained parameters before the step, and compares after it."""

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        self._before: list[Any] = []

    def before_step(self) -> dict[str, Any]:
        """Copy the trained parameters."""
        self._before = [tensor.clone() for tensor in self._tensors()]
        return {}

    def after_step(self) -> dict[str, Any]:
        """Ratios of change to size."""
        before, self._before = self._before, []
        if not before:
            return {}
        torch, parameters = self.training.torch, self.training.parameters
        trained = parameters.trained()
        sizes = parameters.sums_by(part_of, trained, parameters.sums(trained, before, power=2))
        # In place on the copies, to avoid a second copy of the model.
        torch._foreach_sub_(before, self._tensors())
        changes = parameters.sums_by(part_of, trained, parameters.sums(trained, before, power=2))
        moved = torch.stack(parameters.sums(trained, before, power=1)).sum()
        count = max(1, sum(p.numel() for _, p in trained))

        def finish(sums: Sequence[Any], _: Sequence[Any]) -> dict[str, Any]:
            *pairs, total_moved = sums
            change, size = (torch.stack(pairs[i::2]).sum() for i in (0, 1))
            values = {"train/update_ratio": (change / size).sqrt()}
            for i, part in enumerate(changes):
                values[f"train/update_ratio/{part}"] = (pairs[2 * i] / pairs[2 * i + 1]).sqrt()
            return {**values, "train/learning_rate/avg_param_update": total_moved / count}

        pairs = [square for part in changes for square in (changes[part], sizes[part])]
        return self.training.of_whole_model(self.id, finish, sums=[*pairs, moved])

    def _tensors(self) -> list[Any]:
        return [local(p.detach()) for _, p in self.training.parameters.trained()]
