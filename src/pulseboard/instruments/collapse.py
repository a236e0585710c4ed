"""Collapse: whether features still differ from each other, and in how many directions."""

from __future__ import annotations

from typing import Any

from pulseboard.instruments.arrays import mean, module_of, rows, size, smallest
from pulseboard.instruments.declare import Metric, instrument
from pulseboard.instruments.effective_rank import effective_rank
from pulseboard.instruments.similarity import MAX_ROWS, pairwise_similarity


@instrument(
    id="collapse",
    every=100,
    metrics={
        "train/collapse/level{i}_mean_std_per_dim": Metric(
            "1", "standard deviation of a dimension over all features, averaged", "above 0.05; below 0.01 is collapse"
        ),
        "train/collapse/level{i}_min_std_per_dim": Metric(
            "1", "standard deviation of the dimension that varies least", "above 0.005; below 0.001 is collapse"
        ),
        "train/collapse/level{i}_effective_rank": Metric(
            "1",
            "directions in which the features vary: exp of the entropy of the covariance's eigenvalues",
            "above 500 of 768; below 200 is collapse",
        ),
        "train/collapse/level{i}_mean_similarity": Metric(
            "1", "cosine of two different features, averaged over all pairs", "below 0.3; above 0.7 is collapse"
        ),
        "train/collapse/level{i}_max_similarity": Metric(
            "1", "highest cosine of two different features, of 1024 at most", "below 1; 1 is a feature twice"
        ),
        "train/collapse/level{i}_std_similarity": Metric(
            "1", "standard deviation of the cosines of all pairs", "above 0; 0 says that all are alike"
        ),
    },
)
def collapse(features: Any, *, level: int, prefix: str = "train", max_rows: int = MAX_ROWS) -> dict[str, Any]:
    """`features` along the last axis. One row has std and rank 0 and no similarity: NaN, as all are of no rows."""
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
    values = values - values[:1]  # see effective_rank: constant columns have std 0 and not a rounding
    return module_of(values).sqrt(((values - values.mean(0)) ** 2).mean(0))
