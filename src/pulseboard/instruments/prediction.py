"""Prediction: how near predicted embeddings come to their targets."""

from __future__ import annotations

from typing import Any

from pulseboard.instruments.arrays import directions, largest, lengths, mean, rows, same_kind, smallest, std
from pulseboard.instruments.declare import Metric, instrument


@instrument(
    id="prediction",
    every=100,
    metrics={
        "train/prediction/level{i}_cosine_sim_mean": Metric(
            "1", "cosine of prediction and target, averaged", "0.4 early, above 0.7 later, settling about 0.85"
        ),
        "train/prediction/level{i}_cosine_sim_std": Metric(
            "1", "standard deviation of the cosines", "above 0.1: some patches are harder than others"
        ),
        "train/prediction/level{i}_cosine_sim_min": Metric("1", "lowest cosine: the hardest patch", "rises"),
        "train/prediction/level{i}_cosine_sim_max": Metric("1", "highest cosine: the easiest patch", "rises towards 1"),
        "train/prediction/level{i}_normalized_mse": Metric(
            "1", "mean square of the difference, after each embedding is divided by its norm", "falls"
        ),
        "train/prediction/level{i}_l2_distance": Metric(
            "1", "L2 norm of prediction minus target, averaged over the embeddings", "falls"
        ),
    },
)
def prediction(predicted: Any, target: Any, *, level: int, prefix: str = "train") -> dict[str, Any]:
    """Embeddings along the last axis of both. An embedding of zeros has cosine 0 with all; none at all give NaN."""
    ours = rows(predicted)
    theirs = rows(same_kind(target, like=ours))
    us, them = directions(ours), directions(theirs)
    cosines = (us * them).sum(-1)
    found = {
        "cosine_sim_mean": mean(cosines),
        "cosine_sim_std": std(cosines),
        "cosine_sim_min": smallest(cosines),
        "cosine_sim_max": largest(cosines),
        "normalized_mse": mean((us - them) ** 2),
        "l2_distance": mean(lengths(ours - theirs)),
    }
    return {f"{prefix}/prediction/level{level}_{name}": value for name, value in found.items()}
