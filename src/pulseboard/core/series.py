"""A series: the points of one scalar tag of one run, in the order they were logged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulseboard.core.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Series(Table):
    """Three arrays of one length. Steps may repeat or fall, values may be NaN or infinite."""

    tag: str
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]  # seconds since 1970
    values: NDArray[np.float64]
    orphaned: NDArray[np.bool_]  # true where a later restart took the point's place

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        span = f", steps {self.steps[0]}..{self.steps[-1]}, last {self.values[-1]:.6g}" if len(self) else ""
        lost = int(self.orphaned.sum())
        return f"Series({self.tag!r}, {len(self)} points{span}{f', {lost} orphaned' if lost else ''})"

    def columns(self) -> dict[str, Any]:
        """`step`, `wall_time`, `value`."""
        return {"step": self.steps, "wall_time": self.wall_times, "value": self.values}
