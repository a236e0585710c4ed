"""Prediction: how close predicted embeddings are to their targets."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import directions, largest, lengths, mean, rows, same_kind, smallest, std
from pulseboard.instruments.registry import instrument


@instrument(
    id="prediction",
    every=100,
    metrics={
        "train/prediction/level{i}_cosine_sim_mean": Metric(
            "1", "mean cosine of prediction and target", "0.4 early, above 0.7 later, settling near 0.85"
        ),
        "train/prediction/level{i}_cosine_sim_std": Metric(
            "1", "standard deviation of the cosines", "above 0.1: some patches are harder than others"
        ),
        "train/prediction/level{i}_cosine_sim_min": Metric("1", "lowest cosine: the hardest patch", "rises"),
        "train/prediction/level{i}_cosine_sim_max": Metric("1", "highest cosine: the easiest patch", "rises toward 1"),
        "train/prediction/level{i}_normalized_mse": Metric(
            "1", "mean squared difference of the normalized embeddings", "falls"
        ),
        "train/prediction/level{i}_l2_distance": Metric("1", "mean L2 norm of prediction minus target", "falls"),
    },
)
def prediction(predicted: Any, target: Any, *, level: int, prefix: str = "train") -> dict[str, Any]:
    """Embeddings are along the last axis of both. An all-zero embedding has cosine 0; no embeddings give NaN."""
    predictions = rows(predicted)
    targets = rows(same_kind(target, like=predictions))
    unit_predictions, unit_targets = directions(predictions), directions(targets)
    cosines = (unit_predictions * unit_targets).sum(-1)
    found = {
        "cosine_sim_mean": mean(cosines),
        "cosine_sim_std": std(cosines),
        "cosine_sim_min": smallest(cosines),
        "cosine_sim_max": largest(cosines),
        "normalized_mse": mean((unit_predictions - unit_targets) ** 2),
        "l2_distance": mean(lengths(predictions - targets)),
    }
    return {f"{prefix}/prediction/level{level}_{name}": value for name, value in found.items()}
