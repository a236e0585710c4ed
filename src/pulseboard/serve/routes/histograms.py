"""Histograms over steps, for ridges and for percentile bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulseboard.serve import schema
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.routes.runs import RUN, TAG

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pulseboard.core.values import Histogram

# What TensorBoard draws: percentiles at whole standard deviations, and halves, of a normal distribution.
BASIS_POINTS = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)
_BUCKETS = 30
_LIMIT = schema.whole("steps, evenly thinned; the first and the newest stay", least=1, most=10_000, default=100)

_STEPS = schema.several(schema.whole(least=-(2**63), most=2**63), most=10_000)
_TIMES = schema.several(schema.number(), most=10_000)
_ROWS = schema.several(schema.several(schema.number(), most=_BUCKETS), "a row a step", most=10_000)


def _chosen(board: Board, ask: Ask) -> list[Histogram]:
    run = board.run(ask["run"])
    ask.same_since(board.state_of([run.name]))
    every: list[Histogram] = board.values(run, ask["tag"], kind="histogram")
    limit = ask["limit"]
    if len(every) <= limit:
        return every
    if limit == 1:
        return every[-1:]
    return [every[round(i * (len(every) - 1) / (limit - 1))] for i in range(limit)]


@endpoint(
    "GET",
    "histograms",
    "Histograms over steps, all in the same 30 buckets.",
    query={"run": RUN, "tag": TAG, "limit": _LIMIT},
    required=("run", "tag"),
    gives=schema.answer(
        "Histograms",
        {"steps": _STEPS, "wall_times": _TIMES, "lefts": _ROWS, "rights": _ROWS, "counts": _ROWS},
    ),
)
def histograms(board: Board, ask: Ask) -> dict[str, Any]:
    import numpy as np

    chosen = _chosen(board, ask)
    filled = [one for one in chosen if len(one.counts)]
    low = min((float(one.lefts[0]) for one in filled), default=0.0)
    high = max((float(one.rights[-1]) for one in filled), default=0.0)
    if not high > low:  # all values are one value
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, _BUCKETS + 1)
    return {
        "steps": [one.step for one in chosen],
        "wall_times": [one.wall_time for one in chosen],
        "lefts": [edges[:-1].tolist()] * len(chosen),
        "rights": [edges[1:].tolist()] * len(chosen),
        "counts": [_rebinned(one, edges).tolist() for one in chosen],
    }


def _rebinned(one: Histogram, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts between the edges: a bucket gives each as much of its count as it overlaps with it."""
    import numpy as np

    if not len(one.counts):
        return np.zeros(len(edges) - 1)
    with np.errstate(all="ignore"):
        lefts, rights = one.lefts, one.rights
        widths = rights - lefts
        overlap = np.minimum(rights[:, None], edges[None, 1:]) - np.maximum(lefts[:, None], edges[None, :-1])
        share = np.clip(overlap, 0.0, None) / widths[:, None]
    # A bucket without width lies in one place: the last of the edges' buckets that begins at or before it.
    thin = np.flatnonzero(~(widths > 0))
    share[thin] = 0.0
    at = np.clip(np.searchsorted(edges, lefts[thin], side="right") - 1, 0, len(edges) - 2)
    share[thin, at] = 1.0
    counts: NDArray[np.float64] = (one.counts[:, None] * np.nan_to_num(share)).sum(axis=0)
    return counts


@endpoint(
    "GET",
    "distributions",
    "Percentiles of histograms over steps.",
    query={"run": RUN, "tag": TAG, "limit": {**_LIMIT, "default": 1000}},
    required=("run", "tag"),
    gives=schema.answer(
        "Distributions",
        {
            "steps": _STEPS,
            "wall_times": _TIMES,
            "basis_points": schema.several(schema.whole(), most=len(BASIS_POINTS)),
            "values": _ROWS,
        },
    ),
)
def distributions(board: Board, ask: Ask) -> dict[str, Any]:
    chosen = _chosen(board, ask)
    return {
        "steps": [one.step for one in chosen],
        "wall_times": [one.wall_time for one in chosen],
        "basis_points": BASIS_POINTS,
        "values": [percentiles(one) for one in chosen],
    }


def percentiles(one: Histogram) -> list[float]:
    """The values at the basis points, straight lines drawn within buckets, as TensorBoard does it."""
    import numpy as np

    n = len(one.counts)
    if not n:
        return [0.0] * len(BASIS_POINTS)
    points = np.array(BASIS_POINTS, np.float64)
    least, most = float(one.lefts[0]), float(one.rights[-1])
    # One that is empty behind the sum of the counts: then everything is the maximum.
    weights = np.cumsum(one.counts * 10000 / (one.counts.sum() or 1.0))
    at = np.searchsorted(weights, points, side="right")
    inside = np.minimum(at, n - 1)
    before = np.where(inside > 0, weights[inside - 1], 0.0)
    left = np.where(before > 0, np.maximum(one.rights[inside - 1], least), least)
    right = np.minimum(one.rights[inside], most)
    with np.errstate(all="ignore"):
        values = left + (points - before) / (weights[inside] - before) * (right - left)
    found: list[float] = np.where(at < n, values, most).tolist()
    return found
