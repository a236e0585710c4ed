"""Precision-recall curves: a tensor of six rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulseboard.core.values import PRCurve
from pulseboard.tbformat.kinds import TENSOR_FIELD
from pulseboard.tbformat.stored_value import StoredValue, metadata_bytes, value_bytes
from pulseboard.tbformat.tensor import float_tensor_bytes
from pulseboard.tbformat.wire import MalformedMessage, varint_field

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray


def decode_pr_curve(value: StoredValue) -> PRCurve:
    """Decode a curve, trimmed like in TensorBoard's plugin."""
    import numpy as np

    rows = value.tensor_to_copy()
    if rows.dtype.kind not in "fiu" or rows.ndim != 2 or len(rows) != 6:
        raise MalformedMessage(f"Expected 6 x n numbers for a PR curve, not {rows.dtype} {rows.shape}", at=0)
    with np.errstate(all="ignore"):  # a NaN may be signaling
        rows = rows.astype(np.float64)
        # Whole counts, as in the plugin: less than one counts as none.
        predicted = np.flatnonzero(np.trunc(rows[0]) + np.trunc(rows[1]))
    # The first threshold stays even if nothing was predicted at all.
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


# ---------- writing


def encode_pr_curve(tag: str, *, rows: NDArray[Any], num_thresholds: int) -> bytes:
    """A Summary.Value of a curve: rows of true and false positives, true and false negatives, precision, recall."""
    metadata = metadata_bytes("pr_curves", content=varint_field(2, value=num_thresholds))
    return value_bytes(tag, field=TENSOR_FIELD, content=float_tensor_bytes(rows), metadata=metadata)
