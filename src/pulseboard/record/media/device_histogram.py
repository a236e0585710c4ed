"""Histograms counted on the tensor's device: only the counts leave it, and the caller does not wait for them."""

from __future__ import annotations

import functools
import math
import sys
from array import array
from collections.abc import Callable
from typing import Any

from pulseboard.kernel.histogram import bucket_edges

# Numbers sorted at a time. Sorting takes three times their memory, which a training may not have to spare.
_CHUNK_NUMBERS = 1 << 22


def count_on_device(tensor: Any) -> Callable[[], list[float]]:
    """Start counting. Returns a function that waits for the device and returns

    [finite numbers, NaNs, infinities, min, max, sum, sum of squares, count of each bucket...].
    """
    torch: Any = sys.modules["torch"]
    with torch.no_grad():
        result = _count(torch, tensor.detach().reshape(-1))
        if tensor.device.type != "cuda":
            return lambda: _plain(result)
        host = torch.empty(result.shape, dtype=result.dtype, pin_memory=True)
        host.copy_(result, non_blocking=True)
        arrived = torch.cuda.Event()
        arrived.record(torch.cuda.current_stream(tensor.device))

    def wait() -> list[float]:
        arrived.synchronize()
        return _plain(host)

    return wait


def _plain(result: Any) -> list[float]:
    numbers: list[float] = result.tolist()
    if not numbers[0]:
        numbers[3:5] = math.nan, math.nan
    return numbers


def _count(torch: Any, numbers: Any) -> Any:
    # float32 represents these exactly, and sorts in half the time.
    narrow = (torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.uint8, torch.int16, torch.bool)
    dtype = torch.float32 if numbers.dtype in narrow else torch.float64
    edges = _edges(dtype, numbers.device)
    counts = torch.zeros(len(edges) - 1, dtype=torch.float64, device=numbers.device)
    sums = torch.zeros(5, dtype=torch.float64, device=numbers.device)  # all, NaNs, infinities, sum, sum of squares
    low = torch.full((), math.inf, dtype=torch.float64, device=numbers.device)
    high = -low
    for chunk in numbers.split(_CHUNK_NUMBERS) if len(numbers) else ():
        x = chunk.to(dtype)
        finite, nan = torch.isfinite(x), torch.isnan(x)
        wide = torch.where(finite, x, 0).double()
        sums += torch.stack([finite.sum(), nan.sum(), torch.isinf(x).sum(), wide.sum(), wide.square().sum()])
        low = torch.minimum(low, torch.where(finite, x, math.inf).min())
        high = torch.maximum(high, torch.where(finite, x, -math.inf).max())
        # searchsorted treats NaN as smaller than anything, although sort puts it last.
        ordered = torch.where(nan, math.inf, x).sort().values
        counts += torch.searchsorted(ordered, edges).diff()
    return torch.cat([sums[:3], torch.stack([low, high]), sums[3:], counts])


@functools.cache
def _edges(dtype: Any, device: Any) -> Any:
    """For each edge the smallest number of this type that is not below it; the last one is above the last edge."""
    torch: Any = sys.modules["torch"]
    edges = array("d", bucket_edges())
    edges[-1] = math.nextafter(edges[-1], math.inf)
    exact = torch.tensor(edges, dtype=torch.float64)
    rounded = exact.to(dtype)
    rounded = torch.where(
        rounded.double() < exact, torch.nextafter(rounded, torch.full_like(rounded, math.inf)), rounded
    )
    return rounded.to(device)
