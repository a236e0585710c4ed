"""An array that grows at its end. What was taken from it before stays as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Memory that is reserved for further numbers; each number is copied about five times in all.
_SPARE_FRAC = 0.25
_MIN_SPARE = 64


class GrowingArray:
    """Numbers in one block of memory, with room for more."""

    def __init__(self, first: NDArray[Any]) -> None:
        self._memory = first
        self._length = len(first)

    def __len__(self) -> int:
        return self._length

    def append(self, numbers: NDArray[Any]) -> None:
        """Add numbers at the end. Arrays that were taken before do not change."""
        length = self._length + len(numbers)
        if length > len(self._memory):
            memory = np.empty(length + max(_MIN_SPARE, int(_SPARE_FRAC * length)), self._memory.dtype)
            memory[: self._length] = self._memory[: self._length]
            self._memory = memory
        self._memory[self._length : length] = numbers
        self._length = length

    def taken(self) -> NDArray[Any]:
        """All numbers so far, without a copy."""
        return self._memory[: self._length]
