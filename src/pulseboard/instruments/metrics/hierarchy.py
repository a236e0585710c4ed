"""Hierarchy: summary statistics of the embeddings of one level."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import floats, largest, lengths, mean, rows, smallest, std
from pulseboard.instruments.registry import instrument


@instrument(
    id="hierarchy",
    every=100,
    metrics={
        "train/hierarchy/level{i}_feat_mean": Metric("1", "mean of all embedding values", "steady"),
        "train/hierarchy/level{i}_feat_std": Metric(
            "1", "standard deviation of all embedding values", "similar across levels"
        ),
        "train/hierarchy/level{i}_feat_range": Metric("1", "largest value minus smallest", "steady"),
        "train/hierarchy/level{i}_feat_norm": Metric("1", "mean L2 norm of an embedding", "steady"),
        "train/hierarchy/level{i}_num_patches": Metric(
            "patches", "embeddings per sample: the level's resolution", "fixed, and lower at coarser levels"
        ),
    },
)
def hierarchy(features: Any, *, level: int, prefix: str = "train") -> dict[str, Any]:
    """`features` has the shape (…, patches, embedding size). NaN if it is empty."""
    values = floats(features)
    found = {
        "feat_mean": mean(values),
        "feat_std": std(values),
        "feat_range": largest(values) - smallest(values),
        "feat_norm": mean(lengths(rows(values))),
        "num_patches": values.shape[-2] if values.ndim > 1 else 1,
    }
    return {f"{prefix}/hierarchy/level{level}_{name}": value for name, value in found.items()}
