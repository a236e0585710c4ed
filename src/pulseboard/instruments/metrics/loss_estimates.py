"""Loss estimates: training and validation loss over a few batches each, at every evaluation."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import floats, mean
from pulseboard.instruments.registry import instrument


@instrument(
    id="loss_estimates",
    every=250,
    metrics={
        "eval/train_loss": Metric("1", "mean loss of a few training batches", "falls; smoother than train/loss"),
        "eval/val_loss": Metric(
            "1", "mean loss of a few validation batches", "falls with eval/train_loss; rising alone is overfitting"
        ),
        "eval/learning_rate": Metric("1", "learning rate at the evaluation", "as scheduled"),
    },
)
def loss_estimates(train_losses: Any, *, val_losses: Any, learning_rate: Any = None) -> dict[str, Any]:
    """The mean of each list of batch losses (often called `eval_iters` batches); NaN for an empty one."""
    found: dict[str, Any] = {"eval/train_loss": mean(floats(train_losses)), "eval/val_loss": mean(floats(val_losses))}
    if learning_rate is not None:
        found["eval/learning_rate"] = learning_rate
    return found
