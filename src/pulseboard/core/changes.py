"""What changed in a set of runs between two looks at it."""

from __future__ import annotations

from typing import NamedTuple


class Changes(NamedTuple):
    """The names of the runs that changed. False if none did."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    grown: tuple[str, ...] = ()  # runs with new points, or with a file that was replaced, truncated or deleted

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.grown)
