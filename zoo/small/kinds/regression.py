"""A dense network that predicts a number; the loss is the squared error."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo.small.kind import Kind
from zoo.small.loop import prepare, train
from zoo.small.record import Record
from zoo.small.settings import Settings
from zoo.small.tasks import EVALUATED, LABELED, LOOP, Supervised, normal, teacher

FEATURES = 10


class Curve(Supervised):
    """A smooth function with noise."""

    def __init__(self, seed: int) -> None:
        rng = prepare(seed)
        self.teacher, self.noise = teacher(FEATURES, 1, seed), float(rng.choice([0.1, 0.3]))
        self.head = nn.Linear(48, 1)
        self.model = nn.Sequential(
            nn.Linear(FEATURES, 48), nn.Tanh(), nn.Dropout(0.0), nn.Linear(48, 48), nn.Tanh(), self.head
        )

    def data(self, n: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and values."""
        x = normal(rng, n, FEATURES)
        return x, self.teacher(x) + self.noise * normal(rng, n, 1)

    def losses(self, x: torch.Tensor, y: torch.Tensor, s: Settings) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The mean squared error, and the mean absolute one."""
        predicted = self.model(x)
        return F.mse_loss(predicted, y), {"mae": (predicted.detach() - y).abs().mean()}


def run(s: Settings, seed: int) -> Record:
    """Train."""
    return train(Curve(seed), s, seed, n_train=6000)


KIND = Kind("regression", run, LOOP | EVALUATED | LABELED - {"sorted"} | {"target-leak"})
