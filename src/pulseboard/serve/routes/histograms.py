"""Histograms over steps, as ridges and as percentile bands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.parameters import RUN, STEP, TAG
from pulseboard.serve.http.responses import finite
from pulseboard.serve.live.dashboard import Dashboard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pulseboard.core.histogram import Histogram

# The percentiles that TensorBoard draws: at every half standard deviation of a normal distribution.
BASIS_POINTS = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)
_BUCKETS = 30
_MAX_EDGE = 8e307  # twice as far is still a number
_LIMIT = schema.integer(
    "at most this many steps, evenly spaced; the first and the newest are kept", minimum=1, maximum=10_000, default=100
)

_STEPS = schema.array(STEP, max_items=10_000)
_TIMES = schema.array(schema.number(), max_items=10_000)
_ROWS = schema.array(schema.array(schema.number(), max_items=_BUCKETS), "one row per step", max_items=10_000)
_TOTAL = schema.integer("how many steps the tag has")


def _thinned(dashboard: Dashboard, request: ApiRequest) -> tuple[list[Histogram], int]:
    """As many histograms as requested, and how many there are."""
    run = dashboard.run(request["run"])
    request.revalidate(dashboard.state_of([run.name]))
    every: list[Histogram] = dashboard.values(run, request["tag"], kind="histogram")
    limit = request["limit"]
    if len(every) <= limit:
        return every, len(every)
    if limit == 1:
        return every[-1:], len(every)
    return [every[round(i * (len(every) - 1) / (limit - 1))] for i in range(limit)], len(every)


@endpoint(
    "GET",
    "histograms",
    "Histograms over steps, all with the same 30 buckets.",
    query={"run": RUN, "tag": TAG, "limit": _LIMIT},
    required=("run", "tag"),
    returns=schema.named_record(
        "Histograms",
        {"steps": _STEPS, "wall_times": _TIMES, "lefts": _ROWS, "rights": _ROWS, "counts": _ROWS, "total": _TOTAL},
    ),
)
def histograms(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    import numpy as np

    shown, total = _thinned(dashboard, request)
    filled = [one for one in shown if len(one.counts)]
    low = min((edge for one in filled if math.isfinite(edge := float(one.lefts[0]))), default=0.0)
    high = max((edge for one in filled if math.isfinite(edge := float(one.rights[-1]))), default=0.0)
    low, high = max(low, -_MAX_EDGE), min(high, _MAX_EDGE)
    if not high > low:  # all values are the same
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, _BUCKETS + 1)
    return {
        "steps": [one.step for one in shown],
        "wall_times": [finite(one.wall_time) for one in shown],
        "lefts": [edges[:-1].tolist()] * len(shown),
        "rights": [edges[1:].tolist()] * len(shown),
        "counts": [_rebin(one, edges).tolist() for one in shown],
        "total": total,
    }


def _rebin(one: Histogram, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts between the edges: each bucket is distributed in proportion to its overlap."""
    import numpy as np

    if not len(one.counts):
        return np.zeros(len(edges) - 1)
    with np.errstate(all="ignore"):
        lefts, rights = one.lefts, one.rights
        widths = rights - lefts
        overlap = np.minimum(rights[:, None], edges[None, 1:]) - np.maximum(lefts[:, None], edges[None, :-1])
        share = np.clip(overlap, 0.0, None) / widths[:, None]
    # A bucket without width belongs to the last new bucket that starts at or before it.
    thin = np.flatnonzero(~(widths > 0))
    share[thin] = 0.0
    at = np.clip(np.searchsorted(edges, lefts[thin], side="right") - 1, 0, len(edges) - 2)
    share[thin, at] = 1.0
    with np.errstate(all="ignore"):  # counts may be infinite or NaN
        counts: NDArray[np.float64] = np.nan_to_num((one.counts[:, None] * np.nan_to_num(share)).sum(axis=0))
    return counts


@endpoint(
    "GET",
    "distributions",
    "Percentiles of histograms over steps.",
    query={"run": RUN, "tag": TAG, "limit": {**_LIMIT, "default": 1000}},
    required=("run", "tag"),
    returns=schema.named_record(
        "Distributions",
        {
            "steps": _STEPS,
            "wall_times": _TIMES,
            "basis_points": schema.array(schema.integer(), max_items=len(BASIS_POINTS)),
            "values": _ROWS,
            "total": _TOTAL,
        },
    ),
)
def distributions(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    shown, total = _thinned(dashboard, request)
    return {
        "steps": [one.step for one in shown],
        "wall_times": [finite(one.wall_time) for one in shown],
        "basis_points": BASIS_POINTS,
        "values": [percentiles(one) for one in shown],
        "total": total,
    }


def percentiles(one: Histogram) -> list[float]:
    """The values at the basis points, interpolated linearly within buckets as TensorBoard does."""
    import numpy as np

    n = len(one.counts)
    if not n:
        return [0.0] * len(BASIS_POINTS)
    points = np.array(BASIS_POINTS, np.float64)
    smallest, largest = float(one.lefts[0]), float(one.rights[-1])
    # If all counts are zero, every percentile is the largest value.
    with np.errstate(all="ignore"):  # counts may be infinite or NaN
        weights = np.cumsum(one.counts * 10000 / (one.counts.sum() or 1.0))
    at = np.searchsorted(weights, points, side="right")
    inside = np.minimum(at, n - 1)
    before = np.where(inside > 0, weights[inside - 1], 0.0)
    left = np.where(before > 0, np.maximum(one.rights[inside - 1], smallest), smallest)
    right = np.minimum(one.rights[inside], largest)
    with np.errstate(all="ignore"):
        values = left + (points - before) / (weights[inside] - before) * (right - left)
    found: list[float] = np.nan_to_num(np.where(at < n, values, largest)).tolist()
    return found
