"""A window: the last few values of a series, kept on their device without waiting for it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pulseboard.instruments.math.arrays import floats
from pulseboard.record.arrays import is_tensor


class Window:
    """The last `size` values: on the device for tensors, in NumPy otherwise."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"A window needs a size of at least 1, not {size}.")
        self.size = size
        self.count = 0  # of all values ever added
        self._kept: Any = np.full(size, np.nan)

    def __len__(self) -> int:
        return min(self.count, self.size)

    def add(self, value: Any) -> None:
        """Add a value; if the window is full, the oldest is dropped."""
        if is_tensor(value):
            value = floats(value).reshape(())
            if not is_tensor(self._kept):
                torch: Any = sys.modules["torch"]
                self._kept = torch.as_tensor(self._kept, dtype=value.dtype, device=value.device)
        self._kept[self.count % self.size] = value
        self.count += 1

    def values(self) -> Any:
        """The values, oldest first."""
        if self.count <= self.size:
            return self._kept[: self.count]
        oldest = self.count % self.size
        halves = (self._kept[oldest:], self._kept[:oldest])
        if is_tensor(self._kept):
            torch: Any = sys.modules["torch"]
            return torch.cat(halves)
        return np.concatenate(halves)
