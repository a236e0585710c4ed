"""Faults of self-supervised training: the target network, the masks, the weights of the levels."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from zoo.fault import decoy, fault, onset_step

# ---- the target network


@fault(
    "no-stop-gradient",
    bases=("hjepa",),
    cause="no-stop-gradient",
    accepted=("representation-collapse", "ema-divergence"),
    visible="L2",
)
def no_stop_gradient(parts: Any) -> None:
    """The context encoder provides its own targets and is trained through them: a constant is easiest to predict."""
    model = parts.model
    model.features_of_all = lambda pixels: model.context_encoder(pixels)


@fault(
    "target-gradient",
    bases=("hjepa",),
    cause="no-stop-gradient",
    accepted=("target-gradient",),
    visible="L1",
)
def target_gradient(parts: Any) -> None:
    """The target encoder is neither frozen nor detached: it gets gradients, although the optimizer ignores them."""
    model = parts.model
    model.target_encoder.requires_grad_(True)
    model.features_of_all = lambda pixels: model.target_encoder(pixels)
    # Otherwise its gradients would accumulate over the whole run, which is another fault.
    parts.zero_grad = lambda: model.zero_grad(set_to_none=True)


@fault(
    "ema-momentum-one",
    bases=("hjepa",),
    cause="ema-momentum-too-high",
    accepted=("ema-momentum-stuck", "ema-divergence", "ema-magnitude-mismatch", "prediction-stagnant"),
    visible="L2",
)
def ema_momentum_one(parts: Any) -> None:
    """The target never moves: the features to predict stay random."""
    parts.extra["ema_momentum"] = lambda step: 1.0


@fault(
    "ema-momentum-zero",
    bases=("hjepa",),
    cause="ema-momentum-too-low",
    accepted=("ema-no-lag", "representation-collapse"),
    visible="L2",
)
def ema_momentum_zero(parts: Any) -> None:
    """The target is the context encoder of the previous step: it does not lag at all."""
    parts.extra["ema_momentum"] = lambda step: 0.0


# ---- masks


def _more_hidden(masks: torch.Tensor, others: int) -> torch.Tensor:
    """The masks of each image joined with those of `others` more."""
    hidden = masks
    for neighbor in range(1, others + 1):
        hidden = hidden | masks.roll(neighbor, dims=0)
    return hidden


def _change_masks(parts: Any, change: Callable[[torch.Tensor], torch.Tensor], *, from_step: int = 0) -> None:
    healthy = parts.batch

    def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
        pixels, masks = healthy(step)
        return pixels, change(masks) if step >= from_step else masks

    parts.batch = batch


@fault(
    "mask-ratio-shift",
    bases=("hjepa",),
    cause="masking-bug",
    accepted=("mask-ratio-shift", "mask-ratio-range"),
    onset="middle",
    visible="L2",
)
def mask_ratio_shift(parts: Any) -> None:
    """From the middle on, much more is hidden: each image gets the masks of two."""
    _change_masks(
        parts, lambda masks: _more_hidden(masks, round(parts.args.fault_strength)), from_step=onset_step(parts)
    )


@fault(
    "mask-too-much",
    bases=("hjepa",),
    cause="masking-bug",
    accepted=("mask-ratio-range", "prediction-poor", "representation-collapse", "dead-units"),
    visible="L2",
)
def mask_too_much(parts: Any) -> None:
    """Almost all of an image is hidden, so that there is nothing to predict from."""
    _change_masks(parts, lambda masks: _more_hidden(masks, round(9 * parts.args.fault_strength)))


@fault(
    "mask-too-little",
    bases=("hjepa",),
    cause="masking-bug",
    # A level without hidden patches has nothing to predict: no loss, no gradient, and a gap to validation.
    accepted=("mask-ratio-range", "dead-units", "val-gap-from-start"),
    visible="L2",
)
def mask_too_little(parts: Any) -> None:
    """Nine of ten hidden patches are visible."""
    random = torch.Generator().manual_seed(1)

    def change(masks: torch.Tensor) -> torch.Tensor:
        return masks & (torch.rand(masks.shape, generator=random) < 0.1 / parts.args.fault_strength).to(masks.device)

    _change_masks(parts, change)


# ---- levels


@fault(
    "hierarchy-weights-wrong",
    bases=("hjepa",),
    cause="loss-weights-wrong",
    accepted=("hierarchy-imbalance",),
    visible="L2",
)
def hierarchy_weights_wrong(parts: Any) -> None:
    """The weight of the coarsest level is a hundred times that in the config."""
    *finer, coarsest = parts.extra["hierarchy_weights"]
    parts.extra["hierarchy_weights"] = [*finer, coarsest * 100 * parts.args.fault_strength]


@fault(
    "hierarchy-level-lost",
    bases=("hjepa",),
    cause="loss-weights-wrong",
    # The omitted level is not trained: its predictor gets no gradient, and only validation includes its loss.
    accepted=("hierarchy-imbalance", "dead-units", "relative-loss-rising", "val-gap-from-start"),
    visible="L2",
)
def hierarchy_level_lost(parts: Any) -> None:
    """The finest level is missing from the sum, although the config includes it."""
    parts.extra["hierarchy_weights"] = [0.0, *parts.extra["hierarchy_weights"][1:]]


# ---- healthy, but strange


@decoy("jepa-loss-rises", bases=("hjepa",))
def jepa_loss_rises(parts: Any) -> None:
    """Features are not normalized and grow in training, and so does the loss. Relative to their variance, it falls."""
    parts.model.raw_targets = True
    parts.model.context_encoder.norm = nn.Identity()
    parts.model.target_encoder.norm = nn.Identity()
    parts.run.update_config(raw_targets=True)


@decoy("frozen-patches-declared", bases=("hjepa",))
def frozen_patches_declared(parts: Any) -> None:
    """The patch embedding is frozen on purpose, as in MoCo v3, and the config lists it."""
    parts.model.context_encoder.patches.requires_grad_(False)
    names = [name for name, _ in parts.model.named_parameters() if name.startswith("context_encoder.patches.")]
    parts.run.update_config(frozen=["target_encoder", *names], frozen_on_purpose=True)
