"""Groups: statistics of one tag over several runs, aligned on x."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pulseboard.charts import windows
from pulseboard.charts.curve import Curve
from pulseboard.charts.line import SortedPoints
from pulseboard.charts.lists.settings import Settings
from pulseboard.charts.query import GroupQuery
from pulseboard.charts.results import GroupStatistics
from pulseboard.charts.student_t import quantile_975
from pulseboard.charts.windows import Span
from pulseboard.kernel import curves
from pulseboard.kernel.curves import Pyramid
from pulseboard.read.axis.interpolation import interpolate
from pulseboard.read.run import Run

Floats = NDArray[np.float64]
PointsOf = Callable[[Curve, GroupQuery], tuple[SortedPoints, float]]
"""Takes the points of a curve, raw or smoothed, and the origin of their x."""

ALL = "all"
"""The only group of a query without grouping."""
NOT_SET = "(not set)"
"""The group of runs that lack the hyperparameter."""


def members(query: GroupQuery, runs: Mapping[str, Run], *, settings: Settings) -> dict[str, list[Run]]:
    """The runs of each group, by the group's label."""
    if query.by_hparam is None:
        return {ALL: list(runs.values())} if runs else {}
    groups: dict[str, list[Run]] = {}
    for run in runs.values():
        values = settings.merged(run)
        label = str(values[query.by_hparam]) if query.by_hparam in values else NOT_SET
        groups.setdefault(label, []).append(run)
    return groups


class Member(NamedTuple):
    """A run of a group: its curve, and the range of x in which that has points."""

    run: str
    curve: Curve
    span: Span


def statistics(
    tag: str, groups: Mapping[str, Sequence[Member]], query: GroupQuery, *, span: Span
) -> list[GroupStatistics]:
    """The statistics of each group, over a range of x shared by all groups."""
    return [_group(label, tag, group, query, span) for label, group in groups.items()]


def _group(label: str, tag: str, group: Sequence[Member], query: GroupQuery, span: Span) -> GroupStatistics:
    curves = [member.curve for member in group]
    grid = _distinct_x(curves, query, span)
    columns = _statistics(curves, query, span, grid, _points)
    smoothed = None
    if query.smoothing is not None:
        # Smoothed at full resolution, then averaged: at the same x, so that both can be drawn together.
        smoothed = _statistics(curves, query, span, columns["x"], _smoothed_points)
    own = Span(min(member.span.low for member in group), max(member.span.high for member in group))
    return GroupStatistics(label, tag, tuple(member.run for member in group), columns, smoothed, own.bounds)


def _statistics(
    group: Sequence[Curve], query: GroupQuery, span: Span, grid: Floats | None, points_of: PointsOf
) -> dict[str, NDArray[Any]]:
    """Statistics at each x of the grid; without one, in each bucket."""
    if grid is None:
        grid, levels, lows, highs = _by_bucket(group, query, span)
    else:
        levels = lows = highs = _at_grid(group, query, grid, points_of)
    count = np.isfinite(levels).sum(axis=0)
    kept = count > 0 if points_of is _points else np.ones(len(count), np.bool_)
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
    """Every x at which any run has a point; None if there are more of them than buckets.

    With neighbors, also the nearest x before and after the range.
    """
    parts, before, after = [], [], []
    for curve in group:
        with curve.lock:
            points, origin = _points(curve, query)
            start, end = curves.index_range(points.x, origin, span.low, span.high) if span.low <= span.high else (0, 0)
            # Repeated steps are rare, so many more points than buckets means more distinct x too.
            if end - start > 2 * query.buckets:
                return None
            parts.append(np.unique(points.x[start:end] - origin))
            if query.neighbors and span.low <= span.high:
                before.append(points.x[max(start - 1, 0) : start] - origin)
                after.append(points.x[end : end + 1] - origin)
    grid = np.unique(np.concatenate(parts)) if parts else np.empty(0)
    if len(grid) > query.buckets:
        return None
    nearest_before = np.concatenate(before) if before else np.empty(0)
    nearest_after = np.concatenate(after) if after else np.empty(0)
    if query.log_x:
        nearest_before = nearest_before[nearest_before > 0]
    return np.concatenate([np.sort(nearest_before)[-1:], grid, np.sort(nearest_after)[:1]])


def _points(curve: Curve, query: GroupQuery) -> tuple[SortedPoints, float]:
    return curve.live.sorted_by(windows.x_column(query)), windows.x_origin(curve, query)


def _smoothed_points(curve: Curve, query: GroupQuery) -> tuple[SortedPoints, float]:
    """The same points with smoothed values. They have no pyramid, because they are never put into buckets."""
    assert query.smoothing is not None
    points, origin = _points(curve, query)
    smooth = curve.live.smoothed(query.smoothing, windows.x_column(query))
    values = smooth if points.order is None else smooth[points.order]
    return SortedPoints(points.x, values, Pyramid(), points.order), origin


def _at_grid(group: Sequence[Curve], query: GroupQuery, grid: Floats, points_of: PointsOf) -> Floats:
    rows = np.empty((len(group), len(grid)))
    for i, curve in enumerate(group):
        with curve.lock:
            points, origin = points_of(curve, query)
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
