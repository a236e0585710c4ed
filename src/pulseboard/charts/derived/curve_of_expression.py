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
        versions, points = [], {}
        for leaf, curve in curves.items():
            with curve.lock:
                versions.append((id(curve), curve.version))
                points[leaf] = _by_step(curve.live)
        if tuple(versions) == self._versions:
            return
        self._versions = tuple(versions)
        self.version += 1
        self.live, self.orphaned = Line(), Line()
        own = [leaf for leaf in points if leaf.run is None] or list(points)
        steps, wall_times, _ = points[min(own, key=lambda leaf: len(points[leaf][0]))]
        values = {leaf: _at(steps, *points[leaf]) for leaf in points}
        inside = np.ones(len(steps), np.bool_)
        for leaf, (known, _, _) in points.items():
            if not len(known):
                inside[:] = False
            elif values[leaf] is not points[leaf][2]:
                inside &= (steps >= known[0]) & (steps <= known[-1])
        found = np.broadcast_to(self.expression.evaluate(values), steps.shape)
        self.live.add(steps[inside], wall_times[inside], np.ascontiguousarray(found[inside]))


def _by_step(line: Line) -> tuple[Floats, Floats, Floats]:
    """Steps, wall times and values sorted by step; of several points at a step, the last one."""
    points = line.sorted_by("step")
    wall_times = line.columns()[1]
    if points.order is not None:
        wall_times = wall_times[points.order]
    last = np.append(points.x[1:] != points.x[:-1], True) if len(points.x) else np.empty(0, np.bool_)
    if last.all():
        return points.x, wall_times[: len(points.x)], points.values
    return points.x[last], wall_times[last], points.values[last]


def _at(steps: Floats, known_steps: Floats, _: Floats, known: Floats) -> Floats:
    """The values at these steps; infinities stay what they are where a point was logged."""
    if len(steps) == len(known_steps) and np.array_equal(steps, known_steps):
        return known
    return interpolate(known_steps, known, steps)
