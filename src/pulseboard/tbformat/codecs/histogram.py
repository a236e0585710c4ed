"""Histograms: the old message of buckets, and the tensor of left edge, right edge and count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulseboard.core.histogram import Histogram
from pulseboard.tbformat.kinds import TENSOR_FIELD
from pulseboard.tbformat.stored_value import StoredValue, value_bytes
from pulseboard.tbformat.wire import FIXED64, MalformedMessage, Message, double_field, packed_doubles_field

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HISTOGRAM_FIELD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """Counted numbers, as in the old message."""

    min: float  # min and max are NaN if nothing was counted
    max: float
    num: float
    sum: float
    sum_squares: float
    limits: Sequence[float]  # right edges, ascending; bucket i begins where bucket i - 1 ends
    counts: Sequence[float]  # one per limit

    # Left out of everything above. The file format cannot store them.
    nan: int = 0
    inf: int = 0


def decode_histogram(value: StoredValue) -> Histogram:
    """Decode a histogram of either form."""
    return _from_tensor(value) if value.field == TENSOR_FIELD else _from_message(value)


def _from_tensor(value: StoredValue) -> Histogram:
    import numpy as np

    buckets = value.tensor_to_copy()
    if buckets.dtype.kind not in "fiu" or (buckets.size and (buckets.ndim != 2 or buckets.shape[1] != 3)):
        raise MalformedMessage(f"Expected k x 3 numbers for a histogram, not {buckets.dtype} {buckets.shape}", at=0)
    with np.errstate(invalid="ignore"):  # a NaN may be signaling
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
    """(left edges, right edges, counts) from the first to the last bucket that is not empty.

    The outermost limits are often the largest doubles, which no chart can show; min and max replace them. As in
    TensorBoard's data_compat.py, but in full precision.
    """
    import numpy as np

    with np.errstate(invalid="ignore"):
        filled = np.flatnonzero(counts > 0)
    if not len(filled):
        empty = np.empty(0, np.float64)
        return empty, empty, empty
    first, last = int(filled[0]), int(filled[-1])
    if len(limits) < last:
        raise MalformedMessage(f"A histogram has {len(limits)} bucket limits for {len(counts)} buckets", at=0)
    inner = limits[first:last]
    edges = np.concatenate(([low], inner, [high]))
    edges.flags.writeable = False
    return edges[:-1], edges[1:], counts[first : last + 1]


def histogram_of_buckets(buckets: Buckets, *, step: int, wall_time: float) -> Histogram:
    """The histogram that a reader would decode from these buckets."""
    import numpy as np

    limits, counts = np.array(buckets.limits, np.float64), np.array(buckets.counts, np.float64)
    lefts, rights, shown = _shown_buckets(counts, limits=limits, low=buckets.min, high=buckets.max)
    return Histogram(
        step=step,
        wall_time=wall_time,
        lefts=lefts,
        rights=rights,
        counts=shown,
        min=buckets.min,
        max=buckets.max,
        num=buckets.num,
        sum=buckets.sum,
        sum_squares=buckets.sum_squares,
        bucket_limits=limits,
        bucket_counts=counts,
    )


# ---------- writing


def encode_histogram(tag: str, *, histogram: Buckets) -> bytes:
    """A Summary.Value of a histogram in the old form, which every reader supports."""
    message = (
        double_field(1, value=histogram.min)
        + double_field(2, value=histogram.max)
        + double_field(3, value=histogram.num)
        + double_field(4, value=histogram.sum)
        + double_field(5, value=histogram.sum_squares)
        + packed_doubles_field(6, values=histogram.limits)
        + packed_doubles_field(7, values=histogram.counts)
    )
    return value_bytes(tag, field=_HISTOGRAM_FIELD, content=message)
