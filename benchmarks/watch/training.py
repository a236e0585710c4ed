"""The training that is watched: the reference trainer's GPT, its steps timed one by one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import torch

from benchmarks.harness.paths import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "trainers"))  # trainers are scripts that import each other by name
from gpt_model import GPT, Block

VOCABULARY, CONTEXT, WIDTH, LAYERS, HEADS, BATCH = 512, 128, 192, 4, 6, 8


class Training:
    """A model and its steps."""

    def __init__(self, *, width: int = WIDTH, context: int = CONTEXT, batch: int = BATCH) -> None:
        torch.manual_seed(0)
        blocks = [Block(width, HEADS, 0.0) for _ in range(LAYERS)]
        self.model = GPT(vocab_size=VOCABULARY, block_size=context, n_embd=width, dropout=0.0, blocks=blocks)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4)
        self.ids = torch.randint(0, VOCABULARY, (batch, context + 1))
        # Hooks for tools that are called in the training loop.
        self.before_update: Callable[[torch.Tensor, int], None] = lambda loss, step: None
        self.after_step: Callable[[int], None] = lambda step: None
        self.steps = 0

    def step(self) -> float:
        """Train one step: the seconds it took."""
        began = time.perf_counter()
        _, loss = self.model(self.ids[:, :-1], self.ids[:, 1:])
        self.optimizer.zero_grad()
        loss.backward()
        self.before_update(loss, self.steps)
        self.optimizer.step()
        self.after_step(self.steps)
        self.steps += 1
        return time.perf_counter() - began

    def million_parameters(self) -> float:
        """The size of the model."""
        return sum(parameter.numel() for parameter in self.model.parameters()) / 1e6
