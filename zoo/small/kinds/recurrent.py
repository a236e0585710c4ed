"""A recurrent network that classifies sequences by the sum of marked steps."""

from typing import ClassVar

import numpy as np
import torch
from torch import nn

from zoo.small.kind import Kind
from zoo.small.loop import prepare, train
from zoo.small.record import Record
from zoo.small.settings import Settings
from zoo.small.tasks import EVALUATED, LABELED, LOOP, Supervised, normal

LENGTH, CLASSES, WIDTH = 10, 3, 24


class Recurrent(nn.Module):
    """A GRU or a plain recurrent layer, and a linear one."""

    def __init__(self, gated: bool) -> None:
        super().__init__()
        self.cell: nn.Module = nn.GRU(2, WIDTH, batch_first=True) if gated else nn.RNN(2, WIDTH, batch_first=True)
        self.dropout, self.head = nn.Dropout(0.0), nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        return self.head(self.dropout(self.cell(x)[0][:, -1]))


class Sequences(Supervised):
    """Two of the steps are marked; their sum decides."""

    rates: ClassVar = {"adam": 5e-3, "adamw": 5e-3, "sgd": 1e-1}

    def __init__(self, seed: int) -> None:
        rng = prepare(seed)
        self.model = Recurrent(gated=bool(rng.random() < 0.6))
        self.head = self.model.head

    def data(self, n: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Sequences and classes."""
        values = normal(rng, n, LENGTH)
        marked = torch.zeros(n, LENGTH)
        for half in (0, LENGTH // 2):
            marked[torch.arange(n), half + torch.as_tensor(rng.integers(0, LENGTH // 2, n))] = 1.0
        total = (values * marked).sum(1)
        return torch.stack([values, marked], -1), (total > -0.6).long() + (total > 0.6).long()


def run(s: Settings, seed: int) -> Record:
    """Train."""
    return train(Sequences(seed), s, seed, n_train=4000)


KIND = Kind("recurrent", run, LOOP | EVALUATED | LABELED, steps=(200, 400), optimizers=("adam", "adamw"))
