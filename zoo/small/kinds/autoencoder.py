"""A variational autoencoder of small images."""

from typing import ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo.foreign import toy_data
from zoo.small.kind import Kind
from zoo.small.loop import prepare, train
from zoo.small.record import Record
from zoo.small.settings import Settings
from zoo.small.tasks import EVALUATED, LOOP, Supervised

SIZE, HIDDEN, LATENT = 10, 48, 6


class Coder(nn.Module):
    """The encoder, the decoder and the sampling between them."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(SIZE * SIZE, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, SIZE * SIZE))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The reconstruction's logits, and the divergence from the prior."""
        mean, log_variance = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        kl = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(-1).mean()
        return self.decoder(z), kl


class Pictures(Supervised):
    """Reconstruct gray images."""

    rates: ClassVar = {"adam": 2e-3, "adamw": 2e-3, "sgd": 2e-3}

    def __init__(self, seed: int) -> None:
        prepare(seed)
        self.model = Coder()
        self.head = self.model.decoder

    def data(self, n: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Images, twice."""
        split = toy_data.images(n, 0, classes=6, size=SIZE, noise=0.2, seed=int(rng.integers(1_000_000)))
        x = torch.as_tensor(split.train_x).div(3).add(0.5).clamp(0, 1).flatten(1)
        return x, x

    def shifted(self, x: torch.Tensor) -> torch.Tensor:
        """Negatives."""
        return 1 - x

    def losses(self, x: torch.Tensor, y: torch.Tensor, s: Settings) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The evidence lower bound with its parts."""
        logits, kl = self.model(x)
        recon = F.binary_cross_entropy_with_logits(logits, x.clamp(0, 1), reduction="sum") / len(x)
        return recon + s.part_scale * kl, {"recon": recon.detach(), "kl": kl.detach()}


def run(s: Settings, seed: int) -> Record:
    """Train."""
    return train(Pictures(seed), s, seed)


KIND = Kind(
    "autoencoder",
    run,
    LOOP - {"loss-scale", "bad-batches"} | EVALUATED | {"posterior-collapse"},
    steps=(300, 600),
    optimizers=("adam", "adamw"),
)
