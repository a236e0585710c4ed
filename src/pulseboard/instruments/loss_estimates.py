"""Loss estimates: both losses over a few batches each, at every evaluation of a training run."""

from __future__ import annotations

from typing import Any

from pulseboard.instruments.arrays import floats, mean
from pulseboard.instruments.declare import Metric, instrument


@instrument(
    id="loss_estimates",
    every=250,
    metrics={
        "eval/train_loss": Metric("1", "mean loss of some training batches", "falls; calmer than train/loss"),
        "eval/val_loss": Metric(
            "1", "mean loss of some validation batches", "falls with eval/train_loss; rising alone is overfitting"
        ),
        "eval/learning_rate": Metric("1", "learning rate at the evaluation", "as scheduled"),
    },
)
def loss_estimates(train_losses: Any, *, val_losses: Any, learning_rate: Any = None) -> dict[str, Any]:
    """The means of the batches' losses (`eval_iters` of each); NaN of none."""
    found: dict[str, Any] = {"eval/train_loss": mean(floats(train_losses)), "eval/val_loss": mean(floats(val_losses))}
    if learning_rate is not None:
        found["eval/learning_rate"] = learning_rate
    return found
