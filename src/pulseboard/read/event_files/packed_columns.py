"""The short columns of an event file, which are all in one piece of memory, as series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pulseboard.core.axes import Tag
from pulseboard.core.series import Series

if TYPE_CHECKING:
    from pulseboard.kernel.reader import Buffer

# Long enough for every packed column (kernel/c/events/points.c).
_NONE_ORPHANED = np.zeros(4096, np.bool_)
_NONE_ORPHANED.flags.writeable = False


class PackedColumns:
    """Makes series by slicing two arrays per file. Three arrays per series would take twice as long."""

    __slots__ = ("_floats", "_integers", "numbers")

    def __init__(self, numbers: Buffer) -> None:
        self.numbers = numbers
        self._integers = np.frombuffer(numbers, np.int64)
        self._floats = np.frombuffer(numbers, np.float64)

    def series(self, tag: Tag, start: int, points: int) -> Series:
        """The series whose steps, wall times and values follow one another from number `start` on."""
        walls = start + points
        values = walls + points
        return Series(
            tag,
            self._integers[start:walls],
            self._floats[walls:values],
            self._floats[values : values + points],
            _NONE_ORPHANED[:points],
        )
