"""Histograms of what a training loop has: arrays, tensors and lists, counted in TensorBoard's buckets."""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.files.histogram import Buckets
from pulseboard.native import kernel
from pulseboard.record.arrays import as_array, is_tensor
from pulseboard.record.device_histogram import count_on_device

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@functools.cache
def bucket_edges() -> Sequence[float]:
    """The edges of TensorBoard's buckets, rising: finer towards zero, and the same on both sides of it."""
    return array("d", kernel.histogram_edges())


def histogram_of(values: Any) -> Buckets:
    """Count `values`, however they are shaped. NaN and infinities are left out, and said in the result."""
    return histogram_later(values)()


def histogram_later(values: Any) -> Callable[[], Buckets]:
    """The same in two parts, for a loop that shall not wait.

    Here a tensor on a GPU is only put to work; the call that comes back waits for it, and may be made
    by another thread. Everything else is counted here: its memory may change as soon as this returns.
    """
    if is_tensor(values) and values.device.type == "cuda":
        return histogram_on_device(values)
    histogram = _from_memory(values)
    return lambda: histogram


def histogram_on_device(tensor: Any) -> Callable[[], Buckets]:
    """Start to count a torch tensor where it is. The call that comes back waits for the counts alone."""
    counted = count_on_device(tensor)
    return lambda: _from_device(counted())


def _from_memory(values: Any) -> Buckets:
    num, nan, inf, low, high, total, squares, first, counts = kernel.histogram(_countable(values))
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
    """The values as floats or doubles in a row, in memory's order: a histogram has none."""
    import numpy as np

    numbers = as_array(values)
    if numbers.dtype not in (np.float32, np.float64):
        numbers = numbers.astype(np.float32 if np.can_cast(numbers.dtype, np.float32) else np.float64)
    return np.require(numbers.ravel(order="K"), requirements="A")


def _from_device(counted: Sequence[float]) -> Buckets:
    num, nan, inf, low, high, total, squares, *counts = counted
    taken = [i for i, count in enumerate(counts) if count] or [0]
    limits, trimmed = _trimmed(counts[taken[0] : taken[-1] + 1] if any(counts) else [], first=taken[0])
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

    The file has right edges only, so an empty bucket comes first, for the sake of its edge.
    """
    if not counts:
        return (), ()
    return bucket_edges()[first : first + len(counts) + 1], [0, *counts]


# ---------- other buckets


def histogram_in_bins(values: Any, *, bins: Any, max_bins: int | None = None) -> Buckets:
    """Count in the bins that numpy.histogram makes of `bins`; of more than `max_bins` several become one."""
    import numpy as np

    everything = as_array(values).astype(np.float64).ravel()
    numbers = everything[np.isfinite(everything)]
    nan = int(np.isnan(everything).sum())
    inf = len(everything) - len(numbers) - nan
    if not len(numbers):
        none = math.nan
        return Buckets(min=none, max=none, num=0, sum=0, sum_squares=0, limits=(), counts=(), nan=nan, inf=inf)
    counts, limits = np.histogram(numbers, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _joined(counts, limits=limits, max_bins=max_bins)
    taken = np.flatnonzero(counts)
    if not len(taken):
        taken = np.zeros(1, np.int64)
    first, last = int(taken[0]), int(taken[-1])
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


def _joined(
    counts: NDArray[np.int64], *, limits: NDArray[np.float64], max_bins: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """As many neighbours joined into one as bring the number of bins down to about `max_bins`, as torch does."""
    import numpy as np

    each = len(counts) // max_bins
    starts = np.arange(0, len(counts), each)
    return np.add.reduceat(counts, starts), np.append(limits[:-1:each], limits[-1])
