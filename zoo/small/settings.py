"""Settings of a small training: hyperparameters that vary in healthy runs, and the knobs that faults turn."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Settings:
    """One small training."""

    # Hyperparameters: drawn for each cell, so healthy trainings differ.
    steps: int = 600
    batch: int = 32
    optimizer: str = "adam"  # or "adamw", "sgd"
    schedule: str = "cosine"  # or "constant", "linear", "step"
    warmup_share: float = 0.0
    lr_factor: float = 1.0  # of the task's usual learning rate
    weight_decay: float = 0.0
    clip_norm: float | None = None
    dropout: float = 0.0
    accumulate: int = 1
    evaluations: int = 20
    secs_per_step: float = 0.05
    # Faults.
    stepping: bool = True
    zeroing: bool = True
    frozen: bool = False
    divided: bool = True  # accumulated gradients
    shuffled_labels: bool = False
    label_noise_share: float = 0.0
    data_share: float = 1.0  # of the training data
    repeated_batch: bool = False
    sorted_data: bool = False
    leaking: bool = False  # the label is in the training inputs
    init_scale: float = 1.0
    loss_scale: float = 1.0
    part_scale: float = 1.0  # weight of the task's second loss
    rival_factor: float = 1.0  # learning rate of the second network
    nan_at: float | None = None  # share of the training
    shift_at: float | None = None
    bad_batches_at: float | None = None
    resume_at: float | None = None
    resume_loses: str = ""  # "weights" or "optimizer"
    rate_ends_at: float = 1.0  # where the schedule reaches its end
    rate_restarts_at: float | None = None
    eval_shifted: bool = False
    eval_labels_shuffled: bool = False
    eval_stale: bool = False  # evaluates the weights of the start
    eval_in_training_mode: bool = False
    eval_ema: float | None = None  # momentum of the averaged weights that are evaluated
    slower_at: float | None = None
    leak_mb_per_step: float = 0.0
    exploration: float = 1.0

    def changed(self, changes: dict[str, Any]) -> "Settings":
        """The same training with other settings; `lr_factor` multiplies."""
        changes = dict(changes)
        if "lr_factor" in changes:
            changes["lr_factor"] *= self.lr_factor
        return replace(self, **changes)

    def rate(self, step: int) -> float:
        """The factor of the learning rate at a step."""
        at = step / self.steps
        if self.rate_restarts_at is not None and at >= self.rate_restarts_at:
            return self.lr_factor * 3.0
        warm = min(1.0, (at + 1 / self.steps) / self.warmup_share) if self.warmup_share else 1.0
        return self.lr_factor * warm * self._decay(min(1.0, at / self.rate_ends_at))

    def _decay(self, at: float) -> float:
        if self.schedule == "cosine":
            return 0.5 + 0.5 * float(np.cos(np.pi * at))
        if self.schedule == "linear":
            return 1.0 - at
        if self.schedule == "step":
            return 0.1 ** int(at * 3)
        return 1.0

    def reached(self, share: float | None, step: int) -> bool:
        """Whether a fault that starts at this share of the training is there."""
        return share is not None and step >= int(share * self.steps)


def drawn(rng: np.random.Generator) -> Settings:
    """Healthy hyperparameters by chance."""
    pick = rng.choice
    return Settings(
        steps=int(pick([150, 300, 600, 1000, 1500])),
        batch=int(pick([16, 32, 64])),
        optimizer=str(pick(["adam", "adamw", "sgd"])),
        schedule=str(pick(["cosine", "constant", "linear", "step"])),
        warmup_share=float(pick([0.0, 0.0, 0.03, 0.1])),
        lr_factor=float(pick([0.5, 1.0, 1.5])),
        weight_decay=float(pick([0.0, 0.0, 1e-4])),
        clip_norm=float(pick([1.0, 5.0])) if rng.random() < 0.3 else None,
        dropout=float(pick([0.0, 0.0, 0.1, 0.2])),
        accumulate=int(pick([1, 1, 1, 2])),
        evaluations=int(pick([8, 12, 20, 40])),
        secs_per_step=float(pick([0.02, 0.08, 0.3, 1.1])),
    )
