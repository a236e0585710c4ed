"""Faults of trainings on images, and healthy ones that look strange."""

from typing import Any

import torch

from zoo.fault import decoy, fault, onset_step

# ---- diffusion


@fault(
    "diffusion-wrong-target",
    bases=("diffusion",),
    cause="labels-misaligned",
    accepted=("quantile-stuck", "out-of-expected-range", "loss-plateau", "initial-loss-off"),
    equivalent=("loss-weights-wrong", "bad-init"),
)
def diffusion_wrong_target(parts: Any) -> None:
    """The model learns to predict the image, but the sampler expects the noise."""
    parts.extra["target"] = lambda pixels, levels, noise: pixels


@fault(
    "diffusion-band-broken",
    bases=("diffusion",),
    cause="labels-misaligned",
    accepted=("quantile-stuck",),
    visible="L2",
    equivalent=("data-order-bug", "eval-bug"),
)
def diffusion_band_broken(parts: Any) -> None:
    """In one tenth of the noise levels, the target of each image is the noise of another."""
    healthy, steps = parts.extra["target"], parts.args.noise_steps
    low, high = int(0.4 * steps), int((0.4 + 0.1 * parts.args.fault_strength) * steps)

    def target(pixels: torch.Tensor, levels: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        broken = ((levels >= low) & (levels < high)).view(-1, 1, 1, 1)
        return torch.where(broken, noise.roll(1, dims=0), healthy(pixels, levels, noise))

    parts.extra["target"] = target


@fault(
    "average-never-moves",
    bases=("diffusion",),
    cause="ema-momentum-too-high",
    accepted=("eval-frozen", "val-gap-from-start", "ema-momentum-stuck"),
    equivalent=("eval-bug",),
)
def average_never_moves(parts: Any) -> None:
    """The averaged weights, used for evaluation and sampling, never change."""
    parts.extra["ema_momentum"] = lambda step: 1.0


@fault(
    "pixel-sum",
    bases=("diffusion",),
    cause="loss-weights-wrong",
    accepted=("initial-loss-off", "gradient-scale-off", "clipping-excess", "val-below-train", "out-of-expected-range"),
    equivalent=("accumulation-unscaled", "bad-init"),
)
def pixel_sum(parts: Any) -> None:
    """The training loss is a sum over pixels, not their mean."""
    healthy = parts.loss
    parts.loss = lambda batch: healthy(batch) * batch[0][0].numel()


# ---- healthy, but strange


@decoy("plateau-then-drop", bases=("classifier",))
def plateau_then_drop(parts: Any) -> None:
    """The label depends on two properties together. Neither helps alone, so the loss stays flat before it drops."""
    for images in (parts.extra["train_images"], parts.extra["val_images"]):
        edge = torch.cat([images.pixels[:, :, 0], images.pixels[:, :, -1]], dim=2)
        bright = edge.mean(dim=(1, 2)) > 0
        images.labels.copy_((images.labels % 2 == 0) ^ bright)
    healthy = parts.lr_at
    parts.lr_at = lambda step: 0.3 * healthy(step)
    parts.run.update_config(learning_rate=0.3 * max(map(healthy, range(parts.steps))))


@decoy("new-head-declared", bases=("classifier",), onset="middle")
def new_head_declared(parts: Any) -> None:
    """A second phase starts with a new last layer, as declared in the config: all losses jump, then recover."""
    onset, healthy = onset_step(parts), parts.extra["after_step"]

    def after_step(step: int) -> None:
        healthy(step)
        if step == onset:
            parts.model.head.reset_parameters()

    parts.extra["after_step"] = after_step
    parts.run.update_config(declared_changes=[{"step": onset, "what": "the last layer is re-initialized"}])
