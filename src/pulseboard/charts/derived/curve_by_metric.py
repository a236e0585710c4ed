"""A curve over another metric of its run, such as the loss over the tokens seen, instead of over steps."""

from __future__ import annotations

import numpy as np

from pulseboard.charts.curve import Curve
from pulseboard.charts.line import Line
from pulseboard.read.axis.interpolation import interpolate


class CurveByMetric(Curve):
    """A curve whose steps are replaced by the values of another metric at these steps.

    Between two steps of that metric its value is interpolated; before the first and after the last, and next to a value
    that is not finite, points have no x and are not drawn.
    """

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self._versions = (-1, -1)

    def update_from(self, curve: Curve, metric: Curve) -> None:
        """Take the points of a curve, and x from another one. The caller holds this curve's lock, but not theirs."""
        if (curve.version, metric.version) == self._versions:
            return
        with metric.lock:
            x_version, live, orphaned = metric.version, *map(_by_step, (metric.live, metric.orphaned))
        with curve.lock:
            version, lines = curve.version, [line.columns() for line in (curve.live, curve.orphaned)]
        self._versions = (version, x_version)
        self.version += 1
        self.live, self.orphaned = Line(), Line()
        # Points that a restart replaced were logged with values of the metric that it replaced too.
        sources = (live, orphaned if len(orphaned[0]) else live)
        for line, (steps, wall_times, values), (known_steps, known) in zip(
            (self.live, self.orphaned), lines, sources, strict=True
        ):
            line.add(interpolate(known_steps, known, steps), wall_times, values)


def _by_step(line: Line) -> tuple[np.ndarray, np.ndarray]:
    points = line.sorted_by("step")
    return points.x.astype(np.float64, copy=False), points.values
