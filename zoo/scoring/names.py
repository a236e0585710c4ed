"""Names: the ordinary metrics of our trainers, and what several frameworks would have called them."""

import hashlib

# The ordinary metrics, by the tags of our trainers in all their styles. pb.watch, telemetry and probes add the rest.
QUANTITIES = {
    "train loss": ("Loss/train", "train/loss", "train/loss/total", "loss", "train_loss_step"),
    "val loss": (
        "Loss/validation",
        "eval/loss",
        "eval/val_loss",
        "val/loss",
        "val/loss/total",
        "validation/loss",
        "val_loss",
    ),
    "train accuracy": ("train/accuracy", "accuracy", "train_acc_step"),
    "val accuracy": ("val/accuracy", "val_accuracy", "val_acc"),
    "learning rate": (
        "Learning_Rate/lr",
        "train/lr",
        "train/learning_rate",
        "learning_rate",
        "lr-AdamW",
        "lr-SGD",
        "train/learning_rate/base_lr",
    ),
    "gradient norm": (
        "Gradient/norm",
        "train/norm",
        "train/grad_norm",
        "grad_norm",
        "grad_2.0_norm_total",
        "train/gradient/global_norm_before_clip",
    ),
    "step time": ("Performance/step_time_ms", "performance/step_time_ms", "train/duration_ms"),
    "throughput": ("Performance/tokens_per_sec", "performance/tokens_per_sec", "train/tokens_per_second"),
    "epoch": ("Training/epoch", "train/epoch", "epoch"),
}

# Framework -> quantity -> tag. A framework that does not log a quantity leaves it out.
STYLES = {
    "transformers": {
        "train loss": "train/loss",
        "val loss": "eval/loss",
        "train accuracy": "train/accuracy",
        "val accuracy": "eval/accuracy",
        "learning rate": "train/learning_rate",
        "gradient norm": "train/grad_norm",
        "throughput": "train/tokens_per_second",
        "epoch": "train/epoch",
    },
    "lightning": {
        "train loss": "train_loss_step",
        "val loss": "val_loss",
        "train accuracy": "train_acc_step",
        "val accuracy": "val_acc",
        "learning rate": "lr-AdamW",
        "gradient norm": "grad_2.0_norm_total",
        "epoch": "epoch",
    },
    "keras history": {
        "train loss": "loss",
        "val loss": "val_loss",
        "train accuracy": "accuracy",
        "val accuracy": "val_accuracy",
        "learning rate": "learning_rate",
    },
    "keras events": {
        "train loss": "train/epoch_loss",
        "val loss": "validation/epoch_loss",
        "train accuracy": "train/epoch_accuracy",
        "val accuracy": "validation/epoch_accuracy",
        "learning rate": "train/epoch_learning_rate",
    },
    "plain": {
        "train loss": "Loss/train",
        "val loss": "Loss/test",
        "train accuracy": "Accuracy/train",
        "val accuracy": "Accuracy/test",
        "learning rate": "LR",
        "gradient norm": "GradNorm",
        "step time": "Time/step",
    },
}

# Findings that need more than ordinary metrics: a fault that shows only in these does not show there.
NEEDS_MORE = frozenset(
    {
        "clipping-excess",
        "batches-repeated",
        "dead-units",
        "ema-divergence",
        "ema-magnitude-mismatch",
        "ema-momentum-stuck",
        "ema-no-lag",
        "eval-nondeterministic",
        "gpu-fault",
        "gpu-throttled",
        "gpu-underused",
        "gradient-imbalance",
        "gradient-zeros",
        "hierarchy-imbalance",
        "loss-scale-collapse",
        "mask-ratio-range",
        "mask-ratio-shift",
        "memory-growth",
        "moe-aux-dominates",
        "moe-dead-experts",
        "moe-imbalance",
        "moe-router-collapse",
        "moe-tokens-dropped",
        "moe-zloss-high",
        "oom-risk",
        "out-of-expected-range",
        "prediction-poor",
        "prediction-stagnant",
        "quantile-stuck",
        "rank-desync",
        "rank-straggler",
        "relative-loss-rising",
        "representation-collapse",
        "run-stalled",
        "sol-low",
        "steps-skipped",
        "target-gradient",
        "token-mix",
        "update-too-large",
        "update-too-small",
        "weights-exploding",
        "weights-frozen",
        "weights-shrinking",
    }
)


def ordinary(tags: list[str]) -> dict[str, str]:
    """The ordinary metrics among these tags: quantity -> tag. If several fit, the first of the table counts."""
    known = set(tags)
    found = {quantity: next((tag for tag in names if tag in known), None) for quantity, names in QUANTITIES.items()}
    return {quantity: tag for quantity, tag in found.items() if tag is not None}


def style_for(run: str) -> str:
    """The style of a run: any, but the same one on every machine."""
    return sorted(STYLES)[hashlib.sha256(run.encode()).digest()[1] % len(STYLES)]


def renamed(tags: list[str], style: str) -> dict[str, str]:
    """The ordinary metrics among these tags under the names of a style: tag -> name."""
    names = STYLES[style]
    return {tag: names[quantity] for quantity, tag in ordinary(tags).items() if quantity in names}
