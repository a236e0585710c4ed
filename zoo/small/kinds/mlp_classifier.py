"""A dense network that classifies rows of a table."""

import numpy as np
import torch
from torch import nn

from zoo.small.kind import Kind
from zoo.small.loop import prepare, train
from zoo.small.record import Record
from zoo.small.settings import Settings
from zoo.small.tasks import EVALUATED, LABELED, LOOP, Supervised, normal, teacher


class Rows(Supervised):
    """Classes that a random network assigns."""

    def __init__(self, seed: int) -> None:
        rng = prepare(seed)
        self.classes, self.features = int(rng.choice([2, 4, 8])), int(rng.choice([8, 16]))
        self.teacher = teacher(self.features, self.classes, seed)
        width = int(rng.choice([32, 64]))
        self.head = nn.Linear(width, self.classes)
        self.model = nn.Sequential(
            nn.Linear(self.features, width), nn.ReLU(), nn.Dropout(0.0), nn.Linear(width, width), nn.ReLU(), self.head
        )

    def data(self, n: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows with their classes."""
        x = normal(rng, n, self.features)
        scores = self.teacher(x)
        return x, (scores - scores.mean(0) + 0.1 * normal(rng, n, self.classes)).argmax(-1)


def run(s: Settings, seed: int) -> Record:
    """Train."""
    return train(Rows(seed), s, seed, n_train=6000)


KIND = Kind("mlp_classifier", run, LOOP | EVALUATED | LABELED | {"target-leak"})
