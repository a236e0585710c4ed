"""Numerical faults: precision, overflow, and single bits."""

import math
from typing import Any

import torch

from zoo.fault import EVERY_BASE, fault, follow_steps, onset_step

LOSS_TAGS = ("Loss/train", "train/loss", "train/loss/total", "loss")


def gradients(parts: Any) -> list[torch.Tensor]:
    """All gradients that exist."""
    return [p.grad for p in parts.model.parameters() if p.grad is not None]


@fault(
    "nan-masked",
    bases=EVERY_BASE,
    cause="precision-overflow",
    accepted=("nan-masked", "gradient-nan", "loss-nan", "loss-zero"),
    onset="middle",
    visible="L1",
    equivalent=("bad-batch", "lr-too-high", "hardware-fault"),
)
def nan_masked(parts: Any) -> None:
    """The loss becomes NaN, and a filter logs 0 instead."""
    healthy, log, onset, now = parts.loss, parts.log, onset_step(parts), follow_steps(parts)
    parts.loss = lambda batch: healthy(batch) * (float("nan") if now() >= onset else 1.0)

    def log_filtered(values: dict[str, Any], step: int) -> None:
        replaced = {tag: 0.0 for tag in LOSS_TAGS if tag in values and math.isnan(float(values[tag]))}
        log({**values, **replaced}, step)

    parts.log = log_filtered


@fault(
    "fp16-underflow",
    bases=("gpt", "moe", "classifier"),
    cause="precision-underflow",
    accepted=("gradient-zeros", "loss-plateau", "gradient-vanishing"),
    visible="L1",
    equivalent=("dead-relu", "detached-graph"),
)
def fp16_underflow(parts: Any) -> None:
    """Gradients pass through float16 with a loss scale that is far too low, and most become 0."""
    healthy, scale = parts.clip, 2.0**-16 / parts.args.fault_strength
    parts.run.update_config(dtype="float16", loss_scale=scale)

    def clip() -> Any:
        for gradient in gradients(parts):
            gradient.copy_((gradient * scale).half().float() / scale)
        return healthy()

    parts.clip = clip


@fault(
    "loss-scale-collapse",
    bases=("gpt", "moe"),
    cause="precision-overflow",
    accepted=("loss-scale-collapse", "steps-skipped", "gradient-nan"),
    onset="middle",
    visible="L1",
    equivalent=("bad-batch", "lr-too-high"),
)
def loss_scale_collapse(parts: Any) -> None:
    """From the middle on every sixth step overflows: the scaler skips it and halves its scale, endlessly."""
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=100)
    period = max(1, round(6 / parts.args.fault_strength))
    parts.extra["scaler"] = scaler
    parts.run.update_config(dtype="float16")
    healthy, onset, now = parts.backward, onset_step(parts), follow_steps(parts)

    def backward(loss: Any) -> None:
        healthy(loss)
        if now() >= onset and (now() - onset) % period == 0:
            gradients(parts)[0].view(-1)[0] = float("inf")

    parts.backward = backward


@fault(
    "bit-flip",
    bases=EVERY_BASE,
    cause="hardware-fault",
    accepted=("batch-outlier", "loss-spike", "gradient-spike", "gradient-exploding"),
    onset="middle",
    visible="L1",
    equivalent=("bad-batch",),
)
def bit_flip(parts: Any) -> None:
    """A bit in the exponent of one gradient value flips once: the value becomes 2^16 times larger."""
    healthy, onset, now = parts.clip, onset_step(parts), follow_steps(parts)

    def clip() -> Any:
        if now() == onset:
            largest = max(gradients(parts), key=lambda gradient: float(gradient.abs().max())).view(-1)
            largest[largest.abs().argmax()] *= 2.0**16 * parts.args.fault_strength
        return healthy()

    parts.clip = clip
