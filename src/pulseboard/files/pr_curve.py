"""Precision-recall curves: a tensor of six rows."""

from __future__ import annotations

from pulseboard.core.values import PRCurve
from pulseboard.files.stored import StoredValue
from pulseboard.files.wire import MalformedMessage


def decode_pr_curve(value: StoredValue) -> PRCurve:
    """A curve, trimmed as TensorBoard's plugin trims it."""
    import numpy as np

    rows = value.tensor_to_copy()
    if rows.dtype.kind not in "fiu" or rows.ndim != 2 or len(rows) != 6:
        raise MalformedMessage(f"A PR curve should be 6 x n numbers, not {rows.dtype} {rows.shape}", at=0)
    with np.errstate(all="ignore"):  # a NaN may be a signalling one
        rows = rows.astype(np.float64)
        # Whole counts, as the plugin sees them: what is below one is none.
        predicted = np.flatnonzero(np.trunc(rows[0]) + np.trunc(rows[1]))
    # The first threshold stays even where nothing was predicted at all.
    end = int(predicted[-1]) + 1 if len(predicted) else min(rows.shape[1], 1)
    thresholds = np.linspace(0.0, 1.0, rows.shape[1])
    for array in (rows, thresholds):
        array.flags.writeable = False
    return PRCurve(
        step=value.step,
        wall_time=value.wall_time,
        thresholds=thresholds[:end],
        true_positives=rows[0, :end],
        false_positives=rows[1, :end],
        true_negatives=rows[2, :end],
        false_negatives=rows[3, :end],
        precision=rows[4, :end],
        recall=rows[5, :end],
    )
