"""Hierarchy: the embeddings of one level, in five numbers."""

from __future__ import annotations

from typing import Any

from pulseboard.instruments.arrays import floats, largest, lengths, mean, rows, smallest, std
from pulseboard.instruments.declare import Metric, instrument


@instrument(
    id="hierarchy",
    every=100,
    metrics={
        "train/hierarchy/level{i}_feat_mean": Metric("1", "mean of all numbers of the embeddings", "steady"),
        "train/hierarchy/level{i}_feat_std": Metric(
            "1", "standard deviation of all numbers of the embeddings", "alike across levels"
        ),
        "train/hierarchy/level{i}_feat_range": Metric("1", "largest number minus smallest", "steady"),
        "train/hierarchy/level{i}_feat_norm": Metric("1", "L2 norm of an embedding, on average", "steady"),
        "train/hierarchy/level{i}_num_patches": Metric(
            "patches", "embeddings of a sample: the level's resolution", "fixed, and fewer at coarser levels"
        ),
    },
)
def hierarchy(features: Any, *, level: int, prefix: str = "train") -> dict[str, Any]:
    """`features` is (…, patches, numbers of an embedding). NaN where there are none."""
    values = floats(features)
    found = {
        "feat_mean": mean(values),
        "feat_std": std(values),
        "feat_range": largest(values) - smallest(values),
        "feat_norm": mean(lengths(rows(values))),
        "num_patches": values.shape[-2] if values.ndim > 1 else 1,
    }
    return {f"{prefix}/hierarchy/level{level}_{name}": value for name, value in found.items()}
