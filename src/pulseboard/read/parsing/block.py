"""Lines of one shape, as columns in memory that is reserved for all of them: joining pieces would copy a large file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


class Block:
    """Columns with room for so many lines. What is not used takes no memory."""

    def __init__(self, names: Sequence[str], *, room: int) -> None:
        self._names = names
        self._length = 0
        self._rows: Ints = np.empty(room, np.int64)
        self._values: list[Floats] = [np.empty(room) for _ in names]

    def has_room(self, count: int) -> bool:
        """Whether so many more lines fit."""
        return self._length + count <= len(self._rows)

    def append(self, rows: Ints, columns: Sequence[Floats]) -> None:
        """Add lines: the row of each, and its number in every column. They are copied."""
        begin, self._length = self._length, self._length + len(rows)
        self._rows[begin : self._length] = rows
        for memory, numbers in zip(self._values, columns, strict=True):
            memory[begin : self._length] = numbers

    def columns(self) -> Iterator[tuple[str, tuple[Ints, Floats]]]:
        """The name of each column, its rows and its numbers, without a copy. All have the same array of rows."""
        rows = self._rows[: self._length]
        for name, numbers in zip(self._names, self._values, strict=True):
            yield name, (rows, numbers[: self._length])
