"""Histograms of arrays, tensors and lists, counted in TensorBoard's buckets."""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.kernel import histogram as kernel_histogram
from pulseboard.record.arrays import as_array, is_tensor
from pulseboard.record.media.device_histogram import count_on_device
from pulseboard.tbformat.codecs.histogram import Buckets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@functools.cache
def bucket_edges() -> Sequence[float]:
    """The edges of TensorBoard's buckets in rising order: finer near zero, and symmetric around it."""
    return array("d", kernel_histogram.bucket_edges())


def histogram_of(values: Any) -> Buckets:
    """Count `values` of any shape. NaN and infinities are counted separately."""
    return histogram_later(values)()


def histogram_later(values: Any) -> Callable[[], Buckets]:
    """The same in two steps, for a loop that must not wait.

    For a tensor on a GPU this only starts the work; the returned function waits for it, and another thread may call
    it. Everything else is counted at once, since its memory may change as soon as this returns.
    """
    if is_tensor(values) and values.device.type == "cuda":
        return histogram_on_device(values)
    histogram = _from_memory(values)
    return lambda: histogram


def histogram_on_device(tensor: Any) -> Callable[[], Buckets]:
    """Start counting a torch tensor on its device. The returned function waits for the counts."""
    wait_for_counts = count_on_device(tensor)
    return lambda: _from_device(wait_for_counts())


def _from_memory(values: Any) -> Buckets:
    num, nan, inf, low, high, total, squares, first, counts = kernel_histogram.count_values(_countable(values))
    limits, trimmed = _trimmed(memoryview(counts).cast("Q").tolist(), first=first)
    return Buckets(
        min=low,
        max=high,
        num=num,
        sum=total,
        sum_squares=squares,
        limits=limits,
        counts=trimmed,
        nan=nan,
        inf=inf,
    )


def _countable(values: Any) -> NDArray[Any]:
    """The values as a flat array of float32 or float64, in memory order, since a histogram does not depend on order."""
    import numpy as np

    numbers = as_array(values)
    if numbers.dtype not in (np.float32, np.float64):
        numbers = numbers.astype(np.float32 if np.can_cast(numbers.dtype, np.float32) else np.float64)
    return np.require(numbers.ravel(order="K"), requirements="A")


def _from_device(counted: Sequence[float]) -> Buckets:
    num, nan, inf, low, high, total, squares, *counts = counted
    filled = [i for i, count in enumerate(counts) if count] or [0]
    limits, trimmed = _trimmed(counts[filled[0] : filled[-1] + 1] if any(counts) else [], first=filled[0])
    return Buckets(
        min=low,
        max=high,
        num=num,
        sum=total,
        sum_squares=squares,
        limits=limits,
        counts=trimmed,
        nan=int(nan),
        inf=int(inf),
    )


def _trimmed(counts: Sequence[float], *, first: int) -> tuple[Sequence[float], Sequence[float]]:
    """(limits, counts) of the buckets that have something in them, `first` the first of all buckets.

    The file has only right edges, so an empty bucket comes first to store the left edge.
    """
    if not counts:
        return (), ()
    return bucket_edges()[first : first + len(counts) + 1], [0, *counts]


# ---------- other buckets


def histogram_in_bins(values: Any, *, bins: Any, max_bins: int | None = None) -> Buckets:
    """Count in numpy.histogram's `bins`. If there are more than `max_bins`, neighbors are merged."""
    import numpy as np

    flat = as_array(values).astype(np.float64).ravel()
    numbers = flat[np.isfinite(flat)]
    nan = int(np.isnan(flat).sum())
    inf = len(flat) - len(numbers) - nan
    if not len(numbers):
        none = math.nan
        return Buckets(min=none, max=none, num=0, sum=0, sum_squares=0, limits=(), counts=(), nan=nan, inf=inf)
    counts, limits = np.histogram(numbers, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _merged(counts, limits=limits, max_bins=max_bins)
    filled = np.flatnonzero(counts)
    if not len(filled):
        filled = np.zeros(1, np.int64)
    first, last = int(filled[0]), int(filled[-1])
    return Buckets(
        min=float(numbers.min()),
        max=float(numbers.max()),
        num=len(numbers),
        sum=float(numbers.sum()),
        sum_squares=float(numbers.dot(numbers)),
        limits=limits[first : last + 2].tolist(),
        counts=[0, *counts[first : last + 1].tolist()],
        nan=nan,
        inf=inf,
    )


def _merged(
    counts: NDArray[np.int64], *, limits: NDArray[np.float64], max_bins: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Merge neighbors until there are about `max_bins` bins, as torch does."""
    import numpy as np

    each = len(counts) // max_bins
    starts = np.arange(0, len(counts), each)
    return np.add.reduceat(counts, starts), np.append(limits[:-1:each], limits[-1])
