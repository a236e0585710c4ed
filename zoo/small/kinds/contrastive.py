"""Contrastive learning: two noisy views of a row must find each other."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo.small.kind import Kind
from zoo.small.loop import prepare, train
from zoo.small.record import Record
from zoo.small.settings import Settings
from zoo.small.tasks import EVALUATED, LOOP, Supervised, normal

FEATURES, DIMENSIONS, GROUP = 24, 8, 16


class Views(Supervised):
    """Rows on a curved surface, each with two views."""

    def __init__(self, seed: int) -> None:
        rng = prepare(seed)
        self.mix = normal(rng, 5, FEATURES)
        self.noise = float(rng.choice([0.4, 0.7]))
        self.head = nn.Linear(48, DIMENSIONS)
        self.model = nn.Sequential(nn.Linear(FEATURES, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), self.head)

    def data(self, n: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Two views of the same rows."""
        rows = torch.tanh(normal(rng, n, 5)) @ self.mix
        return rows + self.noise * normal(rng, n, FEATURES), rows + self.noise * normal(rng, n, FEATURES)

    def losses(self, x: torch.Tensor, y: torch.Tensor, s: Settings) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """InfoNCE in groups of equal size, so that training and validation have the same chance level."""
        n = len(x) // GROUP * GROUP
        a, b = (F.normalize(self.model(part[:n]), dim=-1).view(-1, GROUP, DIMENSIONS) for part in (x, y))
        scores = (a @ b.transpose(1, 2) / 0.2).reshape(-1, GROUP)
        target = torch.arange(GROUP).repeat(n // GROUP)
        return F.cross_entropy(scores, target), {"acc": (scores.detach().argmax(-1) == target).float().mean()}


def run(s: Settings, seed: int) -> Record:
    """Train."""
    return train(Views(seed), s, seed, n_train=4000)


KIND = Kind("contrastive", run, LOOP | EVALUATED | {"labels-shuffled", "frozen"}, optimizers=("adam", "adamw"))
