"""A curve that an expression computes from other curves, at full resolution."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pulseboard.charts.curve import Curve
from pulseboard.charts.derived.expression import Expression, Floats, Leaf
from pulseboard.charts.line import Line
from pulseboard.read.axis.interpolation import interpolate


class CurveOfExpression(Curve):
    """The value of an expression at the steps of the tag with the fewest points.

    Other tags are interpolated at these steps. Before the first and after the last point of any of them there is no
    point. Points that a restart replaced are left out.
    """

    def __init__(self, tag: str, expression: Expression) -> None:
        super().__init__(tag)
        self.expression = expression
        self._versions: tuple[tuple[int, int], ...] = ()

    def update_from(self, curves: Mapping[Leaf, Curve]) -> None:
        """Compute the points again if a curve has changed. The caller holds this curve's lock, but not theirs."""
        if tuple((id(curve), curve.version) for curve in curves.values()) == self._versions:
            return
        versions, points = [], {}
        for leaf, curve in curves.items():
            with curve.lock:
                versions.append((id(curve), curve.version))
                points[leaf] = curve.live.by_step()
        self._versions = tuple(versions)
        self.version += 1
        self.live, self.orphaned = Line(), Line()
        own = [leaf for leaf in points if leaf.run is None] or list(points)
        steps, wall_times, _ = points[min(own, key=lambda leaf: len(points[leaf][0]))]
        values = {leaf: _at(steps, *points[leaf]) for leaf in points}
        found = self.expression.evaluate(values)
        if found.shape != steps.shape:
            found = np.broadcast_to(found, steps.shape)
        others = [points[leaf][0] for leaf in points if values[leaf] is not points[leaf][2]]
        if any(not len(known) for known in others):
            return
        if others:
            first, last = max(known[0] for known in others), min(known[-1] for known in others)
            inside = slice(np.searchsorted(steps, first), np.searchsorted(steps, last, "right"))
            steps, wall_times, found = steps[inside], wall_times[inside], found[inside]
        self.live.add(steps, wall_times, np.ascontiguousarray(found))


def _at(steps: Floats, known_steps: Floats, _: Floats, known: Floats) -> Floats:
    """The values at these steps; infinities stay what they are where a point was logged."""
    if steps is known_steps or (len(steps) == len(known_steps) and np.array_equal(steps, known_steps)):
        return known
    return interpolate(known_steps, known, steps)
