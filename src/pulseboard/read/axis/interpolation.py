"""Values between logged points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def interpolate(x: Floats, values: Floats, grid: Floats) -> Floats:
    """The values at each x of the grid: logged ones where there are any, otherwise linear between two finite neighbors.

    `x` must rise. NaN outside the points and next to a value that is not finite. Of points with the same x, the last
    one counts.
    """
    out = np.full(len(grid), np.nan)
    if not len(x):
        return out
    right = np.searchsorted(x, grid, "right")
    left = right - 1
    inside = left >= 0
    hit = inside & (x[np.maximum(left, 0)] == grid)
    out[hit] = values[left[hit]]
    between = inside & ~hit & (right < len(x))
    a, b = left[between], right[between]
    # The right neighbor is the last point with its x.
    b = np.searchsorted(x, x[b], "right") - 1
    fraction = (grid[between] - x[a]) / (x[b] - x[a])
    with np.errstate(invalid="ignore"):  # infinity times zero
        out[between] = values[a] * (1 - fraction) + values[b] * fraction
    out[~np.isfinite(out)] = np.nan
    return out
