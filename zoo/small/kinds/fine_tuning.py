"""A network that learned one task continues with a similar one, at a small learning rate."""

from typing import ClassVar

import torch
from torch.nn import functional as F

from zoo.small.kind import Kind
from zoo.small.kinds.mlp_classifier import Rows
from zoo.small.loop import prepare, train
from zoo.small.record import Record
from zoo.small.settings import Settings
from zoo.small.tasks import EVALUATED, LABELED, LOOP


class SimilarRows(Rows):
    """The classes of the first task, with a teacher that changed a little and a new head."""

    rates: ClassVar = {"adam": 5e-4, "adamw": 5e-4, "sgd": 5e-3}

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        rng = prepare(seed + 7)
        x, y = self.data(4000, rng)
        optimizer = torch.optim.Adam(self.model.parameters(), 5e-3)
        for _ in range(200):
            rows = torch.randint(len(x), (64,))
            optimizer.zero_grad()
            F.cross_entropy(self.model(x[rows]), y[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            for parameter in self.teacher.parameters():
                parameter.add_(0.25 * parameter.std() * torch.randn_like(parameter))
        self.head.reset_parameters()


def run(s: Settings, seed: int) -> Record:
    """Train."""
    return train(SimilarRows(seed), s, seed, n_train=6000)


KIND = Kind("fine_tuning", run, LOOP - {"bad-init"} | EVALUATED | LABELED - {"frozen"}, steps=(300, 600, 1000, 1500))
