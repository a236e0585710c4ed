"""A small convolutional network that classifies images."""

import numpy as np
import torch
from torch import nn

from zoo.foreign import toy_data
from zoo.foreign.toy_models import small_cnn
from zoo.small.kind import Kind
from zoo.small.loop import prepare, train
from zoo.small.record import Record
from zoo.small.settings import Settings
from zoo.small.tasks import EVALUATED, LABELED, LOOP, Supervised

SIZE = 12


class Images(Supervised):
    """Patterns under noise."""

    def __init__(self, seed: int) -> None:
        rng = prepare(seed)
        self.classes, self.noise = int(rng.choice([4, 6, 10])), float(rng.choice([0.6, 1.0]))
        network = small_cnn(SIZE, self.classes, width=6, normalized=bool(rng.random() < 0.5))
        self.head = network.head
        self.model = nn.Sequential(network.backbone, nn.Dropout(0.0), self.head)

    def data(self, n: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Images with their classes."""
        split = toy_data.images(
            n, 0, classes=self.classes, size=SIZE, noise=self.noise, seed=int(rng.integers(1_000_000))
        )
        return torch.as_tensor(split.train_x), torch.as_tensor(split.train_y)


def run(s: Settings, seed: int) -> Record:
    """Train."""
    return train(Images(seed), s, seed)


KIND = Kind("cnn_classifier", run, LOOP | EVALUATED | LABELED | {"target-leak"}, steps=(150, 300))
