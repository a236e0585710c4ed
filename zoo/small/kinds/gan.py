"""A generator and a discriminator on points around a ring."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo.small.kind import Kind
from zoo.small.loop import Clock, optimizer_of, prepare
from zoo.small.record import Record, Row
from zoo.small.settings import Settings

NOISE, RATE = 4, 1e-3


def networks() -> tuple[nn.Module, nn.Module]:
    """The generator and the discriminator."""
    generator = nn.Sequential(nn.Linear(NOISE, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
    discriminator = nn.Sequential(
        nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)
    )
    return generator, discriminator


def run(s: Settings, seed: int) -> Record:
    """Train both in turn."""
    rng = prepare(seed)
    generator, discriminator = networks()
    both = (optimizer_of(s, generator.parameters(), RATE), optimizer_of(s, discriminator.parameters(), RATE))
    clock, record = Clock(s, np.random.default_rng(seed + 3)), Record(s.steps, s.evaluations)

    def against(scores: torch.Tensor, target: float) -> torch.Tensor:
        return F.binary_cross_entropy_with_logits(scores, torch.full_like(scores, target))

    for step in range(s.steps):
        for optimizer, factor in zip(both, (1.0, s.rival_factor), strict=True):
            optimizer.param_groups[0]["lr"] = RATE * factor * s.rate(step)
        angle = torch.as_tensor(rng.uniform(0, 2 * np.pi, s.batch), dtype=torch.float32)
        real = torch.stack([angle.cos(), angle.sin()], 1) + 0.1 * torch.randn(s.batch, 2)
        if s.reached(s.shift_at, step):
            real = 4 + 2 * real
        fake = generator(torch.randn(s.batch, NOISE))
        real_scores, fake_scores = discriminator(real), discriminator(fake.detach())
        d_loss = against(real_scores, 0.9) + against(fake_scores, 0.0)
        if s.nan_at is not None and step == int(s.nan_at * s.steps):
            d_loss = d_loss * float("nan")
        _step(s, both[1], d_loss)
        g_loss = against(discriminator(fake), 1.0)
        _step(s, both[0], g_loss)
        values = {
            "d_loss": d_loss.item(),
            "g_loss": g_loss.item(),
            "d_real": real_scores.sigmoid().mean().item(),
            "d_fake": fake_scores.sigmoid().mean().item(),
            "lr": RATE * s.rate(step),
            **clock.tick(step),
        }
        record.train.append(Row(step + 1, step * s.evaluations // s.steps + 1, clock.now, values))
    return record


def _step(s: Settings, optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    if s.stepping:
        optimizer.step()


KIND = Kind(
    "gan",
    run,
    frozenset("lr-very-high not-stepping nan shift rival-strong rival-weak slow-loader memory-leak".split()),
    steps=(400, 800),
    optimizers=("adam",),
    fixed={"schedule": "constant", "warmup_share": 0.0, "weight_decay": 0.0},
)
