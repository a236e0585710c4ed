"""The curve of a run that was forked from another: its parent's points up to the fork, then its own."""

from __future__ import annotations

from pulseboard.charts.curve import Curve
from pulseboard.charts.line import Line


class ForkedCurve(Curve):
    """The points of two curves. Where the fork logged again, its own points count."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self._versions = (-1, -1)

    def update_from(self, parent: Curve, own: Curve, *, step: int) -> None:
        """Take the parent's points up to a step. The caller holds this curve's lock, but not theirs."""
        with parent.lock:
            before, inherited = parent.version, parent.live.columns()
        with own.lock:
            after, live, orphaned = own.version, own.live.columns(), own.orphaned.columns()
        if (before, after) == self._versions:
            return
        self._versions = (before, after)
        self.version += 1
        self.live, self.orphaned = Line(), Line()
        steps, wall_times, values = inherited
        kept = steps <= step
        if len(live[0]):
            kept &= steps < live[0].min()
        self.live.add(steps[kept], wall_times[kept], values[kept])
        self.live.add(*live)
        self.orphaned.add(*orphaned)
