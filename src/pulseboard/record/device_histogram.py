"""Histograms counted where a tensor is: only the counts leave its device, and nobody waits for them."""

from __future__ import annotations

import functools
import math
import sys
from array import array
from collections.abc import Callable
from typing import Any

from pulseboard.native import kernel

# Numbers sorted at a time. Sorting takes three times their memory, which a training job may not have to spare.
_PIECE = 1 << 22


def count_on_device(tensor: Any) -> Callable[[], list[float]]:
    """Start counting. The call that comes back waits for the device, and gives

    [numbers, NaNs, infinities, min, max, sum, sum of squares, count of each bucket...].
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
    # float32 holds these exactly, and sorts in half the time.
    short = (torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.uint8, torch.int16, torch.bool)
    dtype = torch.float32 if numbers.dtype in short else torch.float64
    steps = _steps(dtype, numbers.device)
    counts = torch.zeros(len(steps) - 1, dtype=torch.float64, device=numbers.device)
    sums = torch.zeros(5, dtype=torch.float64, device=numbers.device)  # all, NaNs, infinities, sum, sum of squares
    low = torch.full((), math.inf, dtype=torch.float64, device=numbers.device)
    high = -low
    for piece in numbers.split(_PIECE) if len(numbers) else ():
        x = piece.to(dtype)
        finite, nan = torch.isfinite(x), torch.isnan(x)
        wide = torch.where(finite, x, 0).double()
        sums += torch.stack([finite.sum(), nan.sum(), torch.isinf(x).sum(), wide.sum(), wide.square().sum()])
        low = torch.minimum(low, torch.where(finite, x, math.inf).min())
        high = torch.maximum(high, torch.where(finite, x, -math.inf).max())
        # A search takes NaN for less than anything, though a sort puts it last.
        ordered = torch.where(nan, math.inf, x).sort().values
        counts += torch.searchsorted(ordered, steps).diff()
    return torch.cat([sums[:3], torch.stack([low, high]), sums[3:], counts])


@functools.cache
def _steps(dtype: Any, device: Any) -> Any:
    """For each edge the least number of this type that is not below it; above the last edge, which its bucket has."""
    torch: Any = sys.modules["torch"]
    edges = array("d", kernel.histogram_edges())
    edges[-1] = math.nextafter(edges[-1], math.inf)
    exact = torch.tensor(edges, dtype=torch.float64)
    rounded = exact.to(dtype)
    rounded = torch.where(
        rounded.double() < exact, torch.nextafter(rounded, torch.full_like(rounded, math.inf)), rounded
    )
    return rounded.to(device)
