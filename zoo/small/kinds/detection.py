"""A detector of one object per image: a box, a class and a presence, each with its loss."""

from typing import ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo.small.kind import Kind
from zoo.small.loop import prepare, train
from zoo.small.record import Record
from zoo.small.settings import Settings
from zoo.small.tasks import EVALUATED, LABELED, LOOP, Supervised, normal

SIZE, CLASSES = 12, 3


class Objects(Supervised):
    """Rectangles whose brightness is their class."""

    rates: ClassVar = {"adam": 3e-3, "adamw": 3e-3, "sgd": 2e-2}

    def __init__(self, seed: int) -> None:
        rng = prepare(seed)
        self.noise = float(rng.choice([0.2, 0.4]))
        self.head = nn.Linear(64, 5 + CLASSES)
        self.model = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(144, 64), nn.ReLU(), self.head,
        )  # fmt: skip

    def data(self, n: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Images, and (class, presence, left, top, width, height)."""
        images, targets = self.noise * normal(rng, n, 1, SIZE, SIZE), torch.zeros(n, 6)
        for i in range(n):
            kind, there = int(rng.integers(CLASSES)), float(rng.random() < 0.8)
            w, h = rng.integers(3, 7, 2)
            left, top = rng.integers(0, SIZE - w + 1), rng.integers(0, SIZE - h + 1)
            images[i, 0, top : top + h, left : left + w] += there * (1.0 + kind)
            targets[i] = torch.tensor([kind, there, *(np.array([left, top, w, h]) / SIZE)])
        return images, targets

    def losses(self, x: torch.Tensor, y: torch.Tensor, s: Settings) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The sum of three parts, and the share of boxes and classes that fit."""
        out = self.model(x)
        there = y[:, 1] > 0.5
        box = F.smooth_l1_loss(out[there, 1:5], y[there, 2:], beta=0.1) * 7.5
        cls = F.cross_entropy(out[there, 5:], y[there, 0].long())
        obj = F.binary_cross_entropy_with_logits(out[:, 0], y[:, 1])
        fits = ((out[there, 1:5] - y[there, 2:]).abs().max(1).values < 0.1) & (out[there, 5:].argmax(1) == y[there, 0])
        parts = {"box": box.detach(), "cls": cls.detach(), "obj": obj.detach(), "map": fits.float().mean()}
        return box + cls + s.part_scale * obj, parts


def run(s: Settings, seed: int) -> Record:
    """Train."""
    return train(Objects(seed), s, seed, n_train=3000)


KIND = Kind(
    "detection",
    run,
    LOOP | EVALUATED | LABELED - {"sorted", "label-noise"},
    steps=(300, 600),
    optimizers=("adam", "adamw"),
)
