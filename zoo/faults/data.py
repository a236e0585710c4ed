"""Faults of the data, in training and in evaluation."""

from typing import Any

import torch
from torch import nn

from zoo.fault import decoy, fault, follow_steps, onset_step

TEXT = ("gpt", "moe")
LABELED = ("gpt", "moe", "classifier")  # a batch is a pair of inputs and targets


def change_batch(parts: Any, change: Any, *, from_step: int = 0) -> None:
    """Pass each pair of inputs and targets through `change`."""
    healthy = parts.batch

    def batch(step: int) -> Any:
        x, y = healthy(step)
        return change(x, y) if step >= from_step else (x, y)

    parts.batch = batch


# ---- targets


@fault(
    "labels-shuffled",
    bases=LABELED,
    cause="labels-misaligned",
    accepted=("loss-at-marginal", "loss-at-ignorance", "val-gap-from-start", "loss-plateau", "eval-at-chance"),
    equivalent=("label-noise", "detached-graph"),
)
def labels_shuffled(parts: Any) -> None:
    """Targets are in a different order than inputs: only their frequencies can be learned."""
    random = torch.Generator().manual_seed(1)
    change_batch(parts, lambda x, y: (x, y.flatten()[torch.randperm(y.numel(), generator=random)].view_as(y)))


@fault(
    "label-noise",
    bases=LABELED,
    cause="label-noise",
    accepted=("loss-at-marginal", "val-below-train", "out-of-expected-range", "loss-plateau", "loss-at-ignorance"),
    equivalent=("labels-misaligned",),
)
def label_noise(parts: Any) -> None:
    """Three of ten targets belong to another input."""
    random = torch.Generator().manual_seed(1)
    share = min(1.0, 0.3 * parts.args.fault_strength)

    def change(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        others = y.flatten()[torch.randint(y.numel(), y.shape, generator=random)]
        return x, torch.where(torch.rand(y.shape, generator=random) < share, others, y)

    change_batch(parts, change)


@fault(
    "target-is-input",
    bases=TEXT,
    cause="target-leak",
    accepted=("loss-too-good", "val-gap-from-start", "overfitting"),
    equivalent=("labels-misaligned",),
)
def target_is_input(parts: Any) -> None:
    """The token to predict is the input token."""
    change_batch(parts, lambda x, y: (x, x))


@fault(
    "label-offset",
    bases=TEXT,
    cause="labels-misaligned",
    accepted=("val-gap-from-start", "loss-at-marginal", "loss-plateau", "out-of-expected-range", "overfitting"),
    visible="no",  # only in comparison with earlier runs of the same task
    equivalent=("eval-bug", "data-order-bug"),
)
def label_offset(parts: Any) -> None:
    """The target is the token after the next one."""
    change_batch(parts, lambda x, y: (x[:, :-1].contiguous(), y[:, 1:].contiguous()))


# ---- which data, in which order


@fault(
    "tiny-data",
    bases=TEXT,
    cause="too-little-data",
    accepted=("overfitting", "loss-too-good", "epoch-staircase", "val-gap-from-start", "batches-repeated"),
    equivalent=("repeated-batches",),
)
def tiny_data(parts: Any) -> None:
    """Six hundred characters to learn from."""
    windows = parts.extra["windows"]
    windows.tokens = windows.tokens[: max(2 * windows.block_size + 1, int(600 / parts.args.fault_strength))]


@fault(
    "repeated-batch",
    bases=LABELED,
    cause="repeated-batches",
    accepted=("batches-repeated", "overfitting", "loss-too-good", "val-gap-from-start"),
    equivalent=("too-little-data",),
)
def repeated_batch(parts: Any) -> None:
    """Every step uses the batch of the first."""
    healthy, first = parts.batch, parts.first_step
    parts.batch = lambda step: healthy(first)


@fault(
    "data-order",
    bases=TEXT,
    cause="data-order-bug",
    accepted=(
        "val-gap-from-start",
        "loss-oscillating",
        "loss-level-shift",
        "loss-spike",
        "epoch-staircase",
        "loss-plateau",
        "overfitting",
        "loss-noisy",
    ),
    equivalent=("data-shift", "too-little-data"),
)
def data_order(parts: Any) -> None:
    """Not shuffled: each window starts one token after the last, so batches are almost the same."""
    windows = parts.extra["windows"]

    def start(number: int) -> int:
        return number % (len(windows.tokens) - windows.block_size - 1)

    windows._start = start


@fault(
    "data-shift",
    bases=TEXT,
    cause="data-shift",
    accepted=("data-shift", "loss-level-shift", "loss-spike", "loss-diverged", "gradient-exploding", "gradient-spike"),
    onset="middle",
    equivalent=("labels-misaligned", "bad-batch"),
)
def data_shift(parts: Any) -> None:
    """From the middle on, tokens have other ids, as if another tokenizer wrote the shard."""
    other = _other_token_ids(parts)
    change_batch(parts, lambda x, y: (other[x], other[y]), from_step=onset_step(parts))


def _other_token_ids(parts: Any) -> torch.Tensor:
    return torch.randperm(parts.extra["text"].tokenizer.size, generator=torch.Generator().manual_seed(1))


@fault(
    "nan-batch",
    bases=("gpt", "moe", "classifier", "hjepa", "diffusion"),
    cause="bad-batch",
    accepted=("loss-nan", "gradient-nan"),
    onset="middle",
    equivalent=("precision-overflow", "hardware-fault", "lr-too-high"),
)
def nan_batch(parts: Any) -> None:
    """One batch in the middle of the run gives NaN, and the weights stay NaN."""
    healthy, onset, now = parts.loss, onset_step(parts), follow_steps(parts)
    parts.loss = lambda batch: healthy(batch) * (float("nan") if now() == onset else 1.0)


# ---- evaluation


@fault(
    "val-remapped",
    bases=TEXT,
    cause="eval-bug",
    accepted=("val-gap-from-start", "overfitting"),
    equivalent=("data-shift", "labels-misaligned"),
)
def val_remapped(parts: Any) -> None:
    """Validation tokens have other ids, as if prepared with another tokenizer."""
    held_out = parts.extra["held_out"]
    held_out.tokens = _other_token_ids(parts)[held_out.tokens]


@decoy("val-leakage", bases=TEXT)
def val_leakage(parts: Any) -> None:
    """Validation uses the training text. With a large text nothing reveals it."""
    parts.extra["held_out"].tokens = parts.extra["windows"].tokens


@fault(
    "val-leakage-tiny-data",
    bases=TEXT,
    cause="data-leak",
    accepted=("loss-too-good", "epoch-staircase", "batches-repeated", "val-below-train"),
    equivalent=("too-little-data", "target-leak", "repeated-batches"),
)
def val_leakage_tiny_data(parts: Any) -> None:
    """Both splits are the same six hundred characters: validation follows training to zero."""
    tiny_data(parts)
    val_leakage(parts)


@fault(
    "eval-in-train-mode",
    bases=LABELED,
    cause="eval-bug",
    accepted=("eval-nondeterministic", "eval-noisy"),
    visible="L2",
)
def eval_in_train_mode(parts: Any) -> None:
    """`model.eval()` is forgotten, in a model with dropout."""
    share = min(0.9, 0.1 * parts.args.fault_strength)
    for module in parts.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
        elif isinstance(getattr(module, "dropout", None), float):  # attention applies dropout inside torch's kernel
            module.dropout = share
    parts.run.update_config(dropout=share)
    for module in (parts.model, parts.extra.get("raw_model", parts.model)):
        module.eval = module.train


@fault(
    "eval-frozen", bases=("gpt", "moe", "classifier"), cause="eval-bug", accepted=("eval-frozen", "val-gap-from-start")
)
def eval_frozen(parts: Any) -> None:
    """Evaluation always uses the weights of the first step."""
    healthy = parts.evaluate
    model = parts.extra.get("raw_model", parts.model)
    first_weights = {name: value.clone() for name, value in model.state_dict().items()}

    def evaluate(step: int) -> dict[str, float]:
        current_weights = {name: value.clone() for name, value in model.state_dict().items()}
        model.load_state_dict(first_weights)
        values = healthy(step)
        model.load_state_dict(current_weights)
        return values

    parts.evaluate = evaluate
