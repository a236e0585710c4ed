"""A window: the last few numbers of a series, kept where they are, without waiting for a device."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pulseboard.instruments.arrays import floats
from pulseboard.record.arrays import is_tensor


class Window:
    """The last `size` numbers. A tensor's device keeps them; numbers without one are kept by NumPy."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"A window holds one number or more; its size is {size}.")
        self.size = size
        self.count = 0  # how many were added, ever
        self._kept: Any = np.full(size, np.nan)

    def __len__(self) -> int:
        return min(self.count, self.size)

    def add(self, value: Any) -> None:
        """Add the newest; the oldest goes if there is no room."""
        if is_tensor(value):
            value = floats(value).reshape(())
            if not is_tensor(self._kept):
                torch: Any = sys.modules["torch"]
                self._kept = torch.as_tensor(self._kept, dtype=value.dtype, device=value.device)
        self._kept[self.count % self.size] = value
        self.count += 1

    def values(self) -> Any:
        """Oldest first."""
        if self.count <= self.size:
            return self._kept[: self.count]
        newest = self.count % self.size
        both = (self._kept[newest:], self._kept[:newest])
        if is_tensor(self._kept):
            torch: Any = sys.modules["torch"]
            return torch.cat(both)
        return np.concatenate(both)
