"""Groups: statistics of one tag over several runs, aligned on x."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.charts import tables, windows
from pulseboard.charts.curve import Curve
from pulseboard.charts.line import SortedPoints
from pulseboard.charts.query import GroupQuery
from pulseboard.charts.results import GroupStatistics
from pulseboard.charts.student_t import quantile_975
from pulseboard.charts.tag_sets import TagSet
from pulseboard.charts.windows import Span
from pulseboard.kernel import curves
from pulseboard.read.axis.interpolation import interpolate
from pulseboard.read.run import Run

Floats = NDArray[np.float64]

ALL = "all"
"""The only group of a query without grouping."""
NOT_SET = "(not set)"
"""The group of runs that lack the hyperparameter."""


def members(query: GroupQuery, runs: Mapping[str, Run], *, tags_of: Callable[[Run], TagSet]) -> dict[str, list[Run]]:
    """The runs of each group, by the group's label."""
    if query.by_hparam is None:
        return {ALL: list(runs.values())} if runs else {}
    groups: dict[str, list[Run]] = {}
    for run in runs.values():
        settings = tables.settings_of(run, tags_of(run))
        label = str(settings[query.by_hparam]) if query.by_hparam in settings else NOT_SET
        groups.setdefault(label, []).append(run)
    return groups


def statistics(
    tag: str, groups: Mapping[str, Sequence[tuple[str, Curve]]], query: GroupQuery, *, span: Span
) -> list[GroupStatistics]:
    """The statistics of each group of (run, curve), over a range of x shared by all groups."""
    return [
        GroupStatistics(
            label,
            tag,
            tuple(name for name, _ in group),
            _statistics([curve for _, curve in group], query, span),
        )
        for label, group in groups.items()
    ]


def _statistics(group: Sequence[Curve], query: GroupQuery, span: Span) -> dict[str, NDArray[Any]]:
    grid = _distinct_x(group, query, span)
    if grid is None:
        grid, levels, lows, highs = _by_bucket(group, query, span)
    else:
        levels = lows = highs = _at_grid(group, query, grid)
    count = np.isfinite(levels).sum(axis=0)
    kept = count > 0
    return {"x": grid[kept], **_over_runs(levels[:, kept], lows[:, kept], highs[:, kept], count[kept])}


def _over_runs(levels: Floats, lows: Floats, highs: Floats, count: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Statistics of each column of a table with one row per run; NaN where a run has no data."""
    finite = np.isfinite(levels)
    mean = _mean(levels, finite, count)
    squares = np.where(finite, (levels - mean) ** 2, 0.0).sum(axis=0)
    several = count > 1
    sd = np.full(len(count), np.nan)
    sd[several] = np.sqrt(squares[several] / (count[several] - 1))
    se = sd / np.sqrt(count)
    half = se * quantile_975(count - 1)
    return {
        "count": count.astype(np.uint32),
        "mean": mean,
        "median": np.nanmedian(np.where(finite, levels, np.nan), axis=0) if len(count) else np.empty(0),
        "min": np.where(np.isfinite(lows), lows, np.inf).min(axis=0, initial=np.inf),
        "max": np.where(np.isfinite(highs), highs, -np.inf).max(axis=0, initial=-np.inf),
        "sd": sd,
        "se": se,
        "low": mean - half,
        "high": mean + half,
    }


def _mean(levels: Floats, finite: NDArray[np.bool_], count: NDArray[Any]) -> Floats:
    # Divide before adding: the sum of very large numbers may overflow.
    total: Floats = np.where(finite, levels / np.maximum(count, 1), 0.0).sum(axis=0)
    return total


def _distinct_x(group: Sequence[Curve], query: GroupQuery, span: Span) -> Floats | None:
    """Every x at which any run has a point; None if there are more of them than buckets."""
    parts = []
    for curve in group:
        with curve.lock:
            points, origin = _points(curve, query)
            start, end = curves.index_range(points.x, origin, span.low, span.high) if span.low <= span.high else (0, 0)
            # Repeated steps are rare, so many more points than buckets means more distinct x too.
            if end - start > 2 * query.buckets:
                return None
            parts.append(np.unique(points.x[start:end] - origin))
    grid = np.unique(np.concatenate(parts)) if parts else np.empty(0)
    return grid if len(grid) <= query.buckets else None


def _points(curve: Curve, query: GroupQuery) -> tuple[SortedPoints, float]:
    return curve.live.sorted_by(windows.x_column(query)), windows.x_origin(curve, query)


def _at_grid(group: Sequence[Curve], query: GroupQuery, grid: Floats) -> Floats:
    rows = np.empty((len(group), len(grid)))
    for i, curve in enumerate(group):
        with curve.lock:
            points, origin = _points(curve, query)
            rows[i] = interpolate(points.x - origin, points.values, grid)
    return rows


def _by_bucket(group: Sequence[Curve], query: GroupQuery, span: Span) -> tuple[Floats, Floats, Floats, Floats]:
    """The middle of each bucket; and for each run, the mean, min and max of its points in each bucket.

    Where a run has no points in a bucket but some before and after it, all three are interpolated.
    """
    edges = np.array(curves.edges(span.low, span.high, query.buckets, query.log_x))
    middles = np.sqrt(edges[:-1] * edges[1:]) if query.log_x else edges[:-1] / 2 + edges[1:] / 2
    levels, lows, highs = (np.full((len(group), len(middles)), np.nan) for _ in range(3))
    names = ("x", "min", "max", "mean")
    for i, curve in enumerate(group):
        with curve.lock:
            points, origin = _points(curve, query)
            start, end = curves.index_range(points.x, origin, span.low, span.high)
            columns = windows.bucket(points, start, end, query=query, span=span, origin=origin, names=names)
            x, low, high, mean = columns.values()
            at = np.clip(np.searchsorted(edges, x, "right") - 1, 0, len(middles) - 1)
            levels[i, at], lows[i, at], highs[i, at] = mean, low, high
            empty = np.ones(len(middles), np.bool_)
            empty[at] = False
            between = interpolate(points.x - origin, points.values, middles[empty])
            levels[i, empty] = lows[i, empty] = highs[i, empty] = between
    return middles, levels, lows, highs
