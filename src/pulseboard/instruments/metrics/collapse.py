"""Collapse: whether features still differ from each other, and in how many directions."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import mean, module_of, rows, size, smallest
from pulseboard.instruments.math.similarity import MAX_ROWS, pairwise_similarity
from pulseboard.instruments.metrics.effective_rank import effective_rank
from pulseboard.instruments.registry import instrument


@instrument(
    id="collapse",
    every=100,
    metrics={
        "train/collapse/level{i}_mean_std_per_dim": Metric(
            "1", "standard deviation per dimension, averaged over dimensions", "above 0.05; below 0.01 is collapse"
        ),
        "train/collapse/level{i}_min_std_per_dim": Metric(
            "1", "standard deviation of the dimension that varies least", "above 0.005; below 0.001 is collapse"
        ),
        "train/collapse/level{i}_effective_rank": Metric(
            "1",
            "number of directions in which the features vary: exp of the entropy of the covariance's eigenvalues",
            "above 500 of 768; below 200 is collapse",
        ),
        "train/collapse/level{i}_mean_similarity": Metric(
            "1", "mean cosine over all pairs of features", "below 0.3; above 0.7 is collapse"
        ),
        "train/collapse/level{i}_max_similarity": Metric(
            "1", "highest cosine of a pair, among at most 1024 features", "below 1; 1 is a duplicate feature"
        ),
        "train/collapse/level{i}_std_similarity": Metric(
            "1", "standard deviation of the cosines of all pairs", "above 0; 0 if all features are the same"
        ),
    },
)
def collapse(features: Any, *, level: int, prefix: str = "train", max_rows: int = MAX_ROWS) -> dict[str, Any]:
    """`features` are along the last axis. One row has std and rank 0 and similarity NaN; no rows give only NaN."""
    values = rows(features)
    spread = _std_of_columns(values) if size(values) else values.reshape(-1)
    similarity = pairwise_similarity(values, max_rows=max_rows)
    found = {
        "mean_std_per_dim": mean(spread),
        "min_std_per_dim": smallest(spread),
        "effective_rank": effective_rank(values),
        "mean_similarity": similarity.mean,
        "max_similarity": similarity.max,
        "std_similarity": similarity.std,
    }
    return {f"{prefix}/collapse/level{level}_{name}": value for name, value in found.items()}


def _std_of_columns(values: Any) -> Any:
    values = values - values[:1]  # as in effective_rank: std is exactly 0 for constant columns
    return module_of(values).sqrt(((values - values.mean(0)) ** 2).mean(0))
