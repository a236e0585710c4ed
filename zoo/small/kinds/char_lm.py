"""A transformer that predicts the next character."""

from typing import ClassVar

import numpy as np
import torch
from torch import nn

from zoo.foreign import toy_data
from zoo.small.kind import Kind
from zoo.small.loop import prepare, train
from zoo.small.record import Record
from zoo.small.settings import Settings
from zoo.small.tasks import EVALUATED, LABELED, LOOP, Supervised

LENGTH, WIDTH = 20, 32
CHARACTERS = sorted(set(" .\nabdefgiklmnoprstu"))
NUMBER = {character: i for i, character in enumerate(CHARACTERS)}


class Transformer(nn.Module):
    """One or two layers with a causal mask."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embedding, self.place = nn.Embedding(len(CHARACTERS), WIDTH), nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, len(CHARACTERS))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Scores of the next character at each place."""
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        hidden = self.embedding(ids) + self.place(torch.arange(LENGTH))
        return self.head(self.layers(hidden, mask=mask, is_causal=True))


class Text(Supervised):
    """Windows of made-up words."""

    rates: ClassVar = {"adam": 3e-3, "adamw": 3e-3, "sgd": 1e-1}

    def __init__(self, seed: int) -> None:
        rng = prepare(seed)
        self.model = Transformer(int(rng.choice([1, 2])))
        self.head = self.model.head

    def data(self, n: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Windows, and the same one character later."""
        text = toy_data.text(12 * n + LENGTH + 1, seed=int(rng.integers(1_000_000)))
        ids = torch.tensor([NUMBER[character] for character in text])
        windows = ids.unfold(0, LENGTH + 1, 12)[:n]
        return windows[:, :-1].contiguous(), windows[:, 1:].contiguous()

    def shifted(self, x: torch.Tensor) -> torch.Tensor:
        """Another alphabet."""
        return (x + 7) % len(CHARACTERS)


def run(s: Settings, seed: int) -> Record:
    """Train."""
    return train(Text(seed), s, seed)


KIND = Kind(
    "char_lm",
    run,
    LOOP | EVALUATED | LABELED - {"eval-labels", "sorted", "label-noise"},
    steps=(150, 300),
    optimizers=("adam", "adamw"),
)
