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
    """The context encoder makes its own targets, and is trained through them: a constant is the easiest to predict."""
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
    """The target encoder was neither frozen nor detached: gradients reach it, though no step follows them."""
    model = parts.model
    model.target_encoder.requires_grad_(True)
    model.features_of_all = lambda pixels: model.target_encoder(pixels)
    # Otherwise its gradients would add up over the whole run, which is another fault.
    parts.zero_grad = lambda: model.zero_grad(set_to_none=True)


@fault(
    "ema-momentum-one",
    bases=("hjepa",),
    cause="ema-momentum-too-high",
    accepted=("ema-momentum-stuck", "ema-divergence", "ema-magnitude-mismatch", "prediction-stagnant"),
    visible="L2",
)
def ema_momentum_one(parts: Any) -> None:
    """The target never moves: the features to predict stay those of chance."""
    parts.extra["ema_momentum"] = lambda step: 1.0


@fault(
    "ema-momentum-zero",
    bases=("hjepa",),
    cause="ema-momentum-too-low",
    accepted=("ema-no-lag", "representation-collapse"),
    visible="L2",
)
def ema_momentum_zero(parts: Any) -> None:
    """The target is the context encoder of the step before: it does not lag at all."""
    parts.extra["ema_momentum"] = lambda step: 0.0


# ---- masks


def _more_hidden(masks: torch.Tensor, times: int) -> torch.Tensor:
    """What is hidden of a picture, and what is hidden of `times` others."""
    hidden = masks
    for neighbour in range(1, times + 1):
        hidden = hidden | masks.roll(neighbour, dims=0)
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
    """From the middle on much more is hidden: masks of two pictures fall on one."""
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
    """Nearly all of a picture is hidden, so that there is nothing to predict from."""
    _change_masks(parts, lambda masks: _more_hidden(masks, round(9 * parts.args.fault_strength)))


@fault(
    "mask-too-little",
    bases=("hjepa",),
    cause="masking-bug",
    # A level whose patches are all shown has nothing to predict: no loss, no gradient, and a gap to validation.
    accepted=("mask-ratio-range", "dead-units", "val-gap-from-start"),
    visible="L2",
)
def mask_too_little(parts: Any) -> None:
    """Nine of ten hidden patches are shown after all."""
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
    """The coarsest level counts a hundred times what the config says."""
    *finer, coarsest = parts.extra["hierarchy_weights"]
    parts.extra["hierarchy_weights"] = [*finer, coarsest * 100 * parts.args.fault_strength]


@fault(
    "hierarchy-level-lost",
    bases=("hjepa",),
    cause="loss-weights-wrong",
    # The level that is left out is not trained: its predictor gets no gradient, and validation has its loss.
    accepted=("hierarchy-imbalance", "dead-units", "relative-loss-rising", "val-gap-from-start"),
    visible="L2",
)
def hierarchy_level_lost(parts: Any) -> None:
    """The finest level is left out of the sum, though the config has it."""
    parts.extra["hierarchy_weights"] = [0.0, *parts.extra["hierarchy_weights"][1:]]


# ---- healthy, and strange


@decoy("jepa-loss-rises", bases=("hjepa",))
def jepa_loss_rises(parts: Any) -> None:
    """Features are not normalised, and grow as they learn; the loss grows with them, beside their variance it falls."""
    parts.args.raw_targets = True
    parts.model.context_encoder.norm = nn.Identity()
    parts.model.target_encoder.norm = nn.Identity()
    parts.run.update_config(raw_targets=True)


@decoy("frozen-patches-declared", bases=("hjepa",))
def frozen_patches_declared(parts: Any) -> None:
    """The layer that embeds patches is frozen on purpose, as MoCo v3 has it, and the config lists it."""
    parts.model.context_encoder.patches.requires_grad_(False)
    names = [name for name, _ in parts.model.named_parameters() if name.startswith("context_encoder.patches.")]
    parts.run.update_config(frozen=["target_encoder", *names], frozen_on_purpose=True)
