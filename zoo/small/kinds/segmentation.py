"""A convolutional network that marks a blob in an image, pixel by pixel."""

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

SIZE = 12


class Masks(Supervised):
    """A bright disk on a noisy background."""

    rates: ClassVar = {"adam": 4e-3, "adamw": 4e-3, "sgd": 1e-1}

    def __init__(self, seed: int) -> None:
        rng = prepare(seed)
        self.noise = float(rng.choice([0.5, 0.8]))
        self.head = nn.Conv2d(8, 1, 1)
        self.model = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), self.head
        )

    def data(self, n: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Images and masks."""
        at = torch.as_tensor(rng.uniform(3, SIZE - 3, (n, 2, 1, 1)), dtype=torch.float32)
        radius = torch.as_tensor(rng.uniform(1.5, 4.0, (n, 1, 1)), dtype=torch.float32)
        y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
        mask = ((y - at[:, 0]) ** 2 + (x - at[:, 1]) ** 2 < radius**2).float()[:, None]
        return mask + self.noise * normal(rng, n, 1, SIZE, SIZE), mask

    def losses(self, x: torch.Tensor, y: torch.Tensor, s: Settings) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Cross-entropy and Dice; the overlap."""
        scores = self.model(x)
        p = scores.sigmoid()
        bce = F.binary_cross_entropy_with_logits(scores, y)
        dice = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
        hit = (p > 0.5).float()
        iou = (hit * y).sum() / ((hit + y) > 0).float().sum().clamp(min=1)
        return bce + dice, {"bce": bce.detach(), "dice": dice.detach(), "iou": iou.detach()}


def run(s: Settings, seed: int) -> Record:
    """Train."""
    return train(Masks(seed), s, seed, n_train=1500)


KIND = Kind(
    "segmentation",
    run,
    LOOP | EVALUATED | LABELED - {"sorted", "label-noise"},
    steps=(150, 300, 500),
    optimizers=("adam", "adamw"),
)
