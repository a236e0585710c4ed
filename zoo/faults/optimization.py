"""Faults of the optimizer, the initial weights and the scale of gradients."""

import copy
from typing import Any

import torch
from torch import nn

from zoo.fault import EVERY_BASE, decoy, fault

SGD_LEARNING_RATE = {"gpt": 0.3, "moe": 0.3, "classifier": 0.1}  # of healthy trainings
ACTIVATIONS = (nn.ReLU, nn.GELU, nn.SiLU, nn.LeakyReLU, nn.ELU)


def scale_lr(parts: Any, factor: float) -> None:
    """The same schedule, multiplied by `factor`."""
    healthy = parts.lr_at
    parts.lr_at = lambda step: healthy(step) * factor


def use_sgd(parts: Any, *, learning_rate: float) -> None:
    """Replace the optimizer by SGD with momentum and this peak rate; the run's config is updated."""
    peak = max(parts.lr_at(step) for step in range(parts.steps))
    groups = [{"params": group["params"]} for group in parts.optimizer.param_groups]
    parts.optimizer = torch.optim.SGD(groups, lr=learning_rate, momentum=0.9)
    scale_lr(parts, learning_rate / peak)
    parts.run.update_config(optimizer="sgd", learning_rate=learning_rate, weight_decay=0.0)


def set_clip(parts: Any, norm: float | None) -> None:
    """Change the clipping threshold, and update the config: the user chose it."""
    parts.clip_norm = norm
    name = "clip_norm" if hasattr(parts.args, "clip_norm") else "grad_clip"
    parts.run.update_config(**{name: norm or 0.0})


# ---- the learning rate


@fault(
    "lr-too-high",
    bases=EVERY_BASE,
    cause="lr-too-high",
    accepted=(
        "weights-exploding",
        "update-too-large",
        "loss-plateau",
        "loss-diverged",
        "loss-spike",
        "gradient-exploding",
        "loss-nan",
        "representation-collapse",
    ),
    visible="L1",
    equivalent=("no-warmup",),
)
def lr_too_high(parts: Any) -> None:
    """A learning rate thirty times too high."""
    scale_lr(parts, 30 * parts.args.fault_strength)
    parts.run.update_config(learning_rate=max(parts.lr_at(step) for step in range(parts.steps)))


@fault(
    "lr-too-high-sgd",
    bases=("gpt", "moe", "classifier"),
    cause="lr-too-high",
    accepted=(
        "loss-diverged",
        "gradient-exploding",
        "loss-nan",
        "gradient-nan",
        "weights-exploding",
        "update-too-large",
        "loss-spike",
        "dead-units",  # after a huge step, ReLUs may never fire again
        "gradient-zeros",
        "loss-at-ignorance",
        "loss-plateau",
    ),
    equivalent=("no-clipping", "no-warmup"),
)
def lr_too_high_sgd(parts: Any) -> None:
    """SGD with a learning rate a hundred times too high, without clipping."""
    use_sgd(parts, learning_rate=100 * parts.args.fault_strength * SGD_LEARNING_RATE[parts.base])
    set_clip(parts, None)


@fault(
    "lr-too-low",
    bases=EVERY_BASE,
    cause="lr-too-low",
    accepted=("update-too-small", "loss-at-ignorance", "loss-flat", "loss-plateau"),
    visible="L1",
)
def lr_too_low(parts: Any) -> None:
    """A learning rate a thousand times too low."""
    scale_lr(parts, 1e-3 / parts.args.fault_strength)
    parts.run.update_config(learning_rate=max(parts.lr_at(step) for step in range(parts.steps)))


# ---- steps that do nothing, or the wrong thing

_NO_STEP = ("weights-frozen", "loss-flat", "loss-at-ignorance", "update-too-small")


@fault(
    "optimizer-not-stepping",
    bases=EVERY_BASE,
    cause="optimizer-not-stepping",
    accepted=(*_NO_STEP, "eval-frozen"),
    visible="L1",
    equivalent=("frozen-weights", "scheduler-bug"),
)
def optimizer_not_stepping(parts: Any) -> None:
    """`optimizer.step()` is not called."""
    parts.step = lambda: None


@fault(
    "wrong-parameters",
    bases=EVERY_BASE,
    cause="optimizer-not-stepping",
    accepted=(*_NO_STEP, "gradient-exploding", "clipping-excess", "gradient-scale-off"),
    visible="L1",
    equivalent=("frozen-weights", "scheduler-bug"),
)
def wrong_parameters(parts: Any) -> None:
    """The optimizer has the parameters of a copy, as after rebuilding or moving the model."""
    stale = {id(p): copy.deepcopy(p) for p in parts.model.parameters()}
    for group in parts.optimizer.param_groups:
        group["params"] = [stale.get(id(p), p) for p in group["params"]]


@fault(
    "zero-grad-missing",
    bases=EVERY_BASE,
    cause="zero-grad-missing",
    accepted=("clipping-excess", "gradient-zeros", "gradient-scale-off", "gradient-exploding", "loss-plateau"),
    visible="L1",
    equivalent=("accumulation-unscaled",),
)
def zero_grad_missing(parts: Any) -> None:
    """Gradients accumulate over all steps."""
    parts.zero_grad = lambda: None


@fault(
    "detached-backbone",
    bases=("gpt", "classifier"),
    cause="detached-graph",
    accepted=("gradient-zeros", "loss-plateau", "gradient-vanishing"),
    visible="L1",
    equivalent=("frozen-weights",),
)
def detached_backbone(parts: Any) -> None:
    """The input of the last layer is detached, so that nothing before it learns."""
    head = [m for m in parts.model.modules() if isinstance(m, nn.Linear)][-1]
    head.register_forward_pre_hook(lambda module, inputs: tuple(x.detach() for x in inputs))


@fault(
    "frozen-layers",
    bases=("gpt", "moe", "classifier"),
    cause="frozen-weights",
    accepted=("gradient-zeros", "weights-frozen", "loss-plateau"),
    visible="L1",
    equivalent=("detached-graph",),
)
def frozen_layers(parts: Any) -> None:
    """Nine of ten parameter tensors do not require gradients, by mistake."""
    _freeze(parts, share=0.9)


@decoy("frozen-backbone-declared", bases=("gpt", "classifier"))
def frozen_backbone_declared(parts: Any) -> None:
    """Half of the model is frozen on purpose, and the config lists it."""
    parts.run.update_config(frozen=_freeze(parts, share=0.5), frozen_on_purpose=True)


def _freeze(parts: Any, *, share: float) -> list[str]:
    named = list(parts.model.named_parameters())
    names = [name for name, _ in named[: int(share * len(named))]]
    for name, parameter in named:
        if name in names:
            parameter.requires_grad_(False)
    return names


# ---- initial weights


@fault(
    "dead-relu",
    bases=("gpt", "classifier"),
    cause="dead-relu",
    accepted=("gradient-zeros", "dead-units", "loss-plateau"),
    visible="L1",
    equivalent=("bad-init", "precision-underflow"),
)
def dead_relu(parts: Any) -> None:
    """Biases so far below zero that no unit before a ReLU ever fires."""
    for module in parts.model.modules():
        previous: Any = None
        for name, child in list(module.named_children()):
            if isinstance(child, ACTIVATIONS) and previous is not None:
                setattr(module, name, nn.ReLU())
                nn.init.constant_(previous.bias, -5.0 * parts.args.fault_strength)
            if getattr(child, "bias", None) is not None:
                previous = child


@fault(
    "init-too-large",
    bases=("gpt", "moe", "classifier"),
    cause="bad-init",
    accepted=("initial-loss-off", "update-too-small", "loss-plateau", "gradient-exploding"),
)
def init_too_large(parts: Any) -> None:
    """Every matrix is twenty times larger."""
    _scale_matrices(parts, 20 * parts.args.fault_strength)


@fault(
    "init-zero",
    bases=("gpt", "classifier"),
    cause="bad-init",
    accepted=(
        "loss-at-ignorance",
        "loss-at-marginal",
        "gradient-zeros",
        "gradient-vanishing",
        "gradient-imbalance",
        "weights-frozen",
        "loss-flat",
        "update-too-small",
        "loss-plateau",
    ),
    equivalent=("optimizer-not-stepping", "lr-too-low", "detached-graph"),
)
def init_zero(parts: Any) -> None:
    """Every matrix is zero: units that start equal stay equal."""
    _scale_matrices(parts, 0.0)


@torch.no_grad()
def _scale_matrices(parts: Any, factor: float) -> None:
    for parameter in parts.model.parameters():
        if parameter.dim() >= 2:
            parameter.mul_(factor)


# ---- decay, clipping, and the scale of the loss


@fault(
    "weight-decay-too-high",
    bases=("gpt", "moe", "classifier", "diffusion"),
    cause="weight-decay-too-high",
    accepted=("update-too-large", "weights-shrinking", "loss-plateau"),
    visible="L1",
)
def weight_decay_too_high(parts: Any) -> None:
    """A weight decay of 5."""
    for group in parts.optimizer.param_groups:
        group["weight_decay"] = 5.0 * parts.args.fault_strength
    parts.run.update_config(weight_decay=5.0 * parts.args.fault_strength)


@fault(
    "clip-too-tight-sgd",
    bases=("gpt", "moe", "classifier"),
    cause="clip-too-tight",
    accepted=("clipping-excess", "update-too-small", "loss-plateau", "gradient-scale-off"),
    visible="L1",
    equivalent=("lr-too-low",),
)
def clip_too_tight_sgd(parts: Any) -> None:
    """SGD with gradients clipped to 0.001: every step is tiny."""
    use_sgd(parts, learning_rate=SGD_LEARNING_RATE[parts.base])
    set_clip(parts, 1e-3 / parts.args.fault_strength)


@decoy("clip-tight-adam", bases=("gpt", "moe"))
def clip_tight_adam(parts: Any) -> None:
    """The same with Adam, which is insensitive to the scale of gradients."""
    set_clip(parts, 1e-3 / parts.args.fault_strength)


@decoy("clip-most-steps", bases=("gpt", "moe", "classifier"))
def clip_most_steps(parts: Any) -> None:
    """Clipping at four steps of five, as in many healthy trainings with Adam."""
    set_clip(parts, 0.7 / parts.args.fault_strength)


@decoy("no-clipping", bases=("gpt", "moe"))
def no_clipping(parts: Any) -> None:
    """No clipping, and none is needed."""
    set_clip(parts, None)


@decoy("accumulation-unscaled-adam", bases=("gpt", "moe"))
def accumulation_unscaled_adam(parts: Any) -> None:
    """Eight micro-batches are added and not averaged, with Adam."""
    _scale_backward(parts, 8 * parts.args.fault_strength)


@fault(
    "accumulation-unscaled-sgd",
    bases=("gpt", "moe", "classifier"),
    cause="accumulation-unscaled",
    accepted=(
        "gradient-scale-off",
        "clipping-excess",
        "update-too-large",
        "loss-diverged",
        "loss-spike",
        "weights-exploding",
        "gradient-exploding",
        "dead-units",  # after a step that is too large, ReLUs may never fire again
        "gradient-zeros",
        "loss-at-ignorance",
        "loss-plateau",
        "gradient-nan",
        "loss-nan",
    ),
    visible="L1",
    equivalent=("lr-too-high", "no-clipping"),
)
def accumulation_unscaled_sgd(parts: Any) -> None:
    """The same with SGD without clipping, where each step is eight times larger."""
    use_sgd(parts, learning_rate=SGD_LEARNING_RATE[parts.base])
    set_clip(parts, None)
    _scale_backward(parts, 8 * parts.args.fault_strength)


def _scale_backward(parts: Any, factor: float) -> None:
    healthy = parts.backward
    parts.backward = lambda loss: healthy(loss * factor)


@fault(
    "sum-not-mean",
    bases=("gpt", "moe", "classifier"),
    cause="loss-weights-wrong",
    accepted=("initial-loss-off", "gradient-scale-off", "impossible-value", "val-below-train", "out-of-expected-range"),
    equivalent=("accumulation-unscaled", "bad-init"),
)
def sum_not_mean(parts: Any) -> None:
    """The loss is summed over the rows of the batch."""
    healthy = parts.loss
    parts.loss = lambda batch: healthy(batch) * len(batch[0])
