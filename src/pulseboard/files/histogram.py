"""Histograms: the old message of buckets, and the tensor of left edge, right edge and count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulseboard.core.values import Histogram
from pulseboard.files.kinds import IN_TENSOR
from pulseboard.files.stored import StoredValue
from pulseboard.files.wire import FIXED64, MalformedMessage, Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def decode_histogram(value: StoredValue) -> Histogram:
    """A histogram of either form."""
    return _from_tensor(value) if value.what == IN_TENSOR else _from_message(value)


def _from_tensor(value: StoredValue) -> Histogram:
    import numpy as np

    buckets = value.tensor_to_copy()
    if buckets.dtype.kind not in "fiu" or (buckets.size and (buckets.ndim != 2 or buckets.shape[1] != 3)):
        raise MalformedMessage(f"A histogram should be k x 3 numbers, not {buckets.dtype} {buckets.shape}", at=0)
    with np.errstate(invalid="ignore"):  # a NaN may be a signalling one
        columns = np.ascontiguousarray(buckets.reshape(-1, 3).T, np.float64)
    columns.flags.writeable = False
    return Histogram(step=value.step, wall_time=value.wall_time, lefts=columns[0], rights=columns[1], counts=columns[2])


def _from_message(value: StoredValue) -> Histogram:
    message = value.content()
    low, high = message.double(1), message.double(2)
    limits, bucket_counts = _doubles(message, number=6), _doubles(message, number=7)
    lefts, rights, counts = _shown_buckets(bucket_counts, limits=limits, low=low, high=high)
    return Histogram(
        step=value.step,
        wall_time=value.wall_time,
        lefts=lefts,
        rights=rights,
        counts=counts,
        min=low,
        max=high,
        num=message.double(3),
        sum=message.double(4),
        sum_squares=message.double(5),
        bucket_limits=limits,
        bucket_counts=bucket_counts,
    )


def _doubles(message: Message, *, number: int) -> NDArray[np.float64]:
    import numpy as np

    return np.frombuffer(message.packed(number, wire=FIXED64), "<f8")


def _shown_buckets(
    counts: NDArray[np.float64], *, limits: NDArray[np.float64], low: float, high: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """(left edges, right edges, counts) from the first to the last bucket that has anything in it.

    The outermost limits are often the largest doubles there are, which no chart can show; least and
    greatest value take their place. As in TensorBoard's data_compat.py, but in full precision.
    """
    import numpy as np

    with np.errstate(invalid="ignore"):
        taken = np.flatnonzero(counts > 0)
    if not len(taken):
        nothing = np.empty(0, np.float64)
        return nothing, nothing, nothing
    first, last = int(taken[0]), int(taken[-1])
    if len(limits) < last:
        raise MalformedMessage(f"A histogram has {len(limits)} bucket limits for {len(counts)} buckets", at=0)
    inner = limits[first:last]
    edges = np.concatenate(([low], inner, [high]))
    edges.flags.writeable = False
    return edges[:-1], edges[1:], counts[first : last + 1]
