"""Histograms of parameters and gradients, logged at the run's histogram interval."""

from __future__ import annotations

from typing import Any

from pulseboard.instruments.watch.measurement import Measurement
from pulseboard.instruments.watch.parameters import gradient_values
from pulseboard.instruments.watch.shards import local
from pulseboard.instruments.watch.training import Training

# Default tags of parameters and of gradients.
HISTOGRAM_TAGS = ("Parameters/{name}", "Gradients/{name}")


class Histograms(Measurement):
    """Scheduled by `histogram_interval`, not by `every`, and so not in the registry."""

    id = "histograms"
    per_rank = False

    def __init__(self, training: Training, *, tags: tuple[str, str]) -> None:
        super().__init__(training)
        self._tags = tags

    def before_step(self) -> dict[str, Any]:
        """Log one histogram per parameter, and one per gradient."""
        run, step = self.training.run, self.training.step
        parameter_tag, gradient_tag = (self.training.tag(tag) for tag in self._tags)
        for name, p in self.training.parameters.all:
            run.histogram(parameter_tag.replace("{name}", name), local(p.detach()), step=step)
            if p.grad is not None:
                run.histogram(gradient_tag.replace("{name}", name), gradient_values(p), step=step)
        return {}
