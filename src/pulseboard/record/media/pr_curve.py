"""Precision-recall curves from labels and predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulseboard.record.arrays import as_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MIN_COUNT = 1e-7  # avoids division by zero, as in torch


def pr_curve_rows(labels: Any, *, predictions: Any, thresholds: int, weights: Any = None) -> NDArray[np.float64]:
    """True positives, false positives, true negatives, false negatives, precision and recall at each threshold."""
    import numpy as np

    predicted, truth = as_array(predictions), as_array(labels).astype(np.float64)
    weight = 1.0 if weights is None else as_array(weights)
    threshold = np.floor(predicted * (thresholds - 1)).astype(np.int32)

    def at_or_above(counted: NDArray[np.float64]) -> NDArray[np.float64]:
        counts, _ = np.histogram(threshold, bins=thresholds, range=(0, thresholds - 1), weights=counted)
        return np.cumsum(counts[::-1])[::-1]

    tp, fp = at_or_above(truth * weight), at_or_above((1.0 - truth) * weight)
    tn, fn = fp[0] - fp, tp[0] - tp
    precision = tp / np.maximum(_MIN_COUNT, tp + fp)
    recall = tp / np.maximum(_MIN_COUNT, tp + fn)
    return np.stack([tp, fp, tn, fn, precision, recall])
