"""A series: the points of one scalar tag of one run, in logging order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulseboard.core.axes import Tag
from pulseboard.core.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Not a dataclass: thousands are created at a time, and setting the fields of a frozen one takes three times as long.
class Series(Table):
    """Arrays of equal length. Steps may repeat or fall; values may be NaN or infinite."""

    __slots__ = ("__weakref__", "orphaned", "steps", "tag", "values", "wall_times")

    def __init__(
        self,
        tag: Tag,
        steps: NDArray[np.int64],
        wall_times: NDArray[np.float64],
        values: NDArray[np.float64],
        orphaned: NDArray[np.bool_],
    ) -> None:
        self.tag = tag
        self.steps = steps
        self.wall_times = wall_times  # seconds since 1970
        self.values = values
        self.orphaned = orphaned  # true where a later restart replaced the point

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        span = f", steps {self.steps[0]}..{self.steps[-1]}, last {self.values[-1]:.6g}" if len(self) else ""
        lost = int(self.orphaned.sum())
        return f"Series({self.tag!r}, {len(self)} points{span}{f', {lost} orphaned' if lost else ''})"

    def columns(self) -> dict[str, Any]:
        """`step`, `wall_time`, `value`."""
        return {"step": self.steps, "wall_time": self.wall_times, "value": self.values}
