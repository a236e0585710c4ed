"""Lines of one shape, as columns in memory that is reserved for all of them: joining pieces would copy a large file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.read.axis.build import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Pieces = list[tuple[Ints, Floats]]


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


def joined(pieces_by_name: dict[str, Pieces]) -> dict[str, Column]:
    """The pieces of each column as one, in the order of the rows. Of several numbers in one row the last counts."""
    out: dict[str, Column] = {}
    joined: dict[tuple[int, ...], tuple[NDArray[np.int64], bool]] = {}  # columns of one shape share their rows
    for name, pieces in pieces_by_name.items():
        key = tuple(id(rows) for rows, _ in pieces)
        if key not in joined:
            rows = np.concatenate([rows for rows, _ in pieces]) if len(pieces) > 1 else pieces[0][0]
            joined[key] = (rows, bool((rows[1:] > rows[:-1]).all()))
        rows, is_sorted = joined[key]
        values = np.concatenate([values for _, values in pieces]) if len(pieces) > 1 else pieces[0][1]
        if not is_sorted:
            order = np.argsort(rows, kind="stable")
            rows, values = rows[order], values[order]
            last = np.append(rows[1:] != rows[:-1], True)
            rows, values = rows[last], values[last]
        out[name] = Column(rows, values)
    return out


def with_last(column: Column, last: Column) -> Column:
    """A column and what a last line adds: new rows, or other values for the last row."""
    kept = len(column.rows) - int(len(column.rows) > 0 and column.rows[-1] == last.rows[0])
    return Column(np.concatenate([column.rows[:kept], last.rows]), np.concatenate([column.values[:kept], last.values]))
