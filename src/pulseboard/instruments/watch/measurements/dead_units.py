"""Dead units: activations that are 0 for a whole batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import AddHook, Measurement, measurement
from pulseboard.instruments.watch.module_tree import unwrapped_name
from pulseboard.instruments.watch.training import Training
from pulseboard.record.messages import warn_once

ACTIVATIONS = {"ReLU", "ReLU6", "LeakyReLU", "PReLU", "ELU", "CELU", "SELU", "GELU", "SiLU", "Mish", "Softplus"}


@measurement(
    id="dead_units",
    every=100,
    metrics={
        "train/dead_units/{name}": Metric(
            "1", "share of an activation's units that are 0 for the whole batch, with `dead_units=True`", "near 0"
        ),
    },
)
class DeadUnits(Measurement):
    """A forward hook on each activation module, with `watch(dead_units=True)`."""

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        self._shares: dict[str, Any] = {}
        self._hooked = self._called = False

    def install(self, add_hook: AddHook) -> None:
        """Add the hooks."""
        if self.training.watches_dead_units:
            for name, module in self.training.model.named_modules():
                if type(module).__name__ in ACTIVATIONS:
                    self._hooked = True
                    add_hook(module.register_forward_hook, self._count(unwrapped_name(name)))

    def _count(self, name: str) -> Callable[..., None]:
        def count_dead_units(module: Any, args: Any, output: Any) -> None:
            self._called = True
            schedule, step = self.training.schedule, self.training.cadence_step
            if module.training and schedule.due(self.id, step):
                with schedule.running(self.id, step, done=False), self.training.torch.no_grad():
                    values = output.detach()
                    # Units are the last axis, but the channels of images are the second.
                    units = values.transpose(1, -1) if values.dim() >= 4 else values
                    self._shares[name] = (units.reshape(-1, units.shape[-1]).abs().amax(dim=0) == 0).float().mean()

        return count_dead_units

    def after_step(self) -> dict[str, Any]:
        """The shares of the last batch."""
        if self._hooked and not self._called and self.training.clock.forward_seen:
            self._hooked = False
            warn_once(
                "watch dead_units",
                "dead_units=True counts nothing: the code of torch.compile calls no hooks on modules inside of it.",
            )
        shares, self._shares = self._shares, {}
        return {f"train/dead_units/{name}": share for name, share in shares.items()}
