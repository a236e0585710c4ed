"""Where steps are on other axes: relative time, wall time, or the values of a metric."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pulseboard.charts.curve import Curve
from pulseboard.charts.query import Query
from pulseboard.charts.windows import x_origin
from pulseboard.read.axis.interpolation import interpolate


def x_of_steps(curve: Curve, metric: Curve, steps: Sequence[float], query: Query) -> list[float | None]:
    """The x of each step of a curve on the query's axis. `metric` is the curve of that axis, if it is a metric."""
    if query.x == "step":
        return list(steps)
    with metric.lock:
        points = metric.live.sorted_by("step")
        known = points.values
        if not query.x_tag:
            wall_times = metric.live.columns()[1]
            known = wall_times if points.order is None else wall_times[points.order]
        finite = np.isfinite(known)
        known_steps, known = points.x[finite].astype(np.float64), known[finite].copy()
    if not len(known):
        return [None] * len(steps)
    with curve.lock:
        origin = x_origin(curve, query)
    inside = np.clip(np.asarray(steps, np.float64), known_steps[0], known_steps[-1])
    found = interpolate(known_steps, known, inside) - origin
    return [float(x) if math.isfinite(x) else None for x in found]
