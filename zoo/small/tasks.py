"""What tasks of several kinds share: inputs of another source, leaked labels, and usual learning rates."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo.small.settings import Settings

RATES = {"adam": 2e-3, "adamw": 2e-3, "sgd": 2e-2}
# Faults of any loop with one model.
LOOP = frozenset(
    "lr-high lr-very-high lr-low lr-zero not-stepping no-zero-grad undivided schedule-early schedule-restart nan "
    "shift bad-batches weights-lost slow-loader memory-leak loss-scale bad-init decay no-clipping".split()
)
EVALUATED = frozenset("eval-stale eval-shifted eval-ema".split())
LABELED = frozenset("labels-shuffled label-noise frozen tiny-data repeated-batch eval-labels sorted".split())


class Supervised:
    """A model, its data and a cross-entropy."""

    rates = RATES
    model: nn.Module
    head: nn.Module

    def shifted(self, x: torch.Tensor) -> torch.Tensor:
        """Inputs with the other sign and another scale."""
        return 0.5 - 1.5 * x

    def leaking(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The first input is the label."""
        x = x.clone()
        flat = x.reshape(len(x), -1)
        flat[:, 0] = 2.0 * y.reshape(len(y), -1)[:, 0].float()
        return flat.reshape(x.shape)

    def losses(self, x: torch.Tensor, y: torch.Tensor, s: Settings) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The cross-entropy and the accuracy."""
        scores = self.model(x)
        scores, y = scores.reshape(-1, scores.shape[-1]), y.reshape(-1)
        return F.cross_entropy(scores, y), {"acc": (scores.detach().argmax(-1) == y).float().mean()}


def teacher(features: int, outputs: int, seed: int, *, width: int = 12) -> nn.Module:
    """A fixed random network that makes the targets."""
    generator = torch.Generator().manual_seed(seed)
    net = nn.Sequential(nn.Linear(features, width), nn.Tanh(), nn.Linear(width, outputs))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * (0.5 if parameter.ndim > 1 else 0.1))
    return net.requires_grad_(False)


def normal(rng: np.random.Generator, *shape: int) -> torch.Tensor:
    """Standard normal numbers."""
    return torch.as_tensor(rng.standard_normal(shape), dtype=torch.float32)
