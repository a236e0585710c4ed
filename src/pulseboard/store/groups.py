"""Groups: statistics of one tag over runs that belong together, aligned on x."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.native import curves
from pulseboard.read.run import Run
from pulseboard.store import charts, tables
from pulseboard.store.catalogue import Shape
from pulseboard.store.charts import Span
from pulseboard.store.curve import Curve
from pulseboard.store.line import Ordered
from pulseboard.store.pattern import Pattern
from pulseboard.store.query import Group, GroupQuery
from pulseboard.store.student import quantile_975

Floats = NDArray[np.float64]

NOT_SET = "(not set)"
"""The group of runs that do not have the hyperparameter that is grouped by."""


def members(query: GroupQuery, runs: Mapping[str, Run], *, shape_of: Callable[[Run], Shape]) -> dict[str, list[Run]]:
    """The runs of each group, by the group's label. Runs that a regular expression does not match are in none."""
    out: dict[str, list[Run]] = {}
    pattern = Pattern(query.by_regex) if query.by_regex is not None else None
    for name, run in runs.items():
        label: str | None = "all"
        if pattern is not None:
            label = pattern.label(name)
        elif query.labels is not None:
            label = query.labels.get(name)
        elif query.by_hparam is not None:
            found = tables.settings_of(run, shape_of(run))
            label = str(found[query.by_hparam]) if query.by_hparam in found else NOT_SET
        if label is not None:
            out.setdefault(label, []).append(run)
    return out


def statistics(
    tag: str, groups: Mapping[str, Sequence[tuple[str, Curve]]], query: GroupQuery, *, span: Span
) -> list[Group]:
    """The statistics of each group of (run, curve), over the range of x that all groups share."""
    return [
        Group(label, tag, tuple(name for name, _ in found), _statistics([curve for _, curve in found], query, span))
        for label, found in groups.items()
    ]


def _statistics(found: Sequence[Curve], query: GroupQuery, span: Span) -> dict[str, NDArray[Any]]:
    grid = _shared_points(found, query, span)
    if grid is None:
        grid, levels, lows, highs = _by_columns(found, query, span)
    else:
        levels = lows = highs = _at_points(found, query, grid)
    count = np.isfinite(levels).sum(axis=0)
    kept = count > 0
    return {"x": grid[kept], **_over_runs(levels[:, kept], lows[:, kept], highs[:, kept], count[kept])}


def _over_runs(levels: Floats, lows: Floats, highs: Floats, count: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Statistics down each column of a table with a row for each run, NaN where it has no data."""
    there = np.isfinite(levels)
    mean = _mean(levels, there, count)
    squares = np.where(there, (levels - mean) ** 2, 0.0).sum(axis=0)
    several = count > 1
    sd = np.full(len(count), np.nan)
    sd[several] = np.sqrt(squares[several] / (count[several] - 1))
    se = sd / np.sqrt(count)
    half = se * quantile_975(count - 1)
    return {
        "count": count.astype(np.uint32),
        "mean": mean,
        "median": np.nanmedian(np.where(there, levels, np.nan), axis=0) if len(count) else np.empty(0),
        "min": np.where(np.isfinite(lows), lows, np.inf).min(axis=0, initial=np.inf),
        "max": np.where(np.isfinite(highs), highs, -np.inf).max(axis=0, initial=-np.inf),
        "sd": sd,
        "se": se,
        "low": mean - half,
        "high": mean + half,
    }


def _mean(levels: Floats, there: NDArray[np.bool_], count: NDArray[Any]) -> Floats:
    # Divided before they are added up: the sum of very large numbers may be no number.
    total: Floats = np.where(there, levels / np.maximum(count, 1), 0.0).sum(axis=0)
    return total


def _shared_points(found: Sequence[Curve], query: GroupQuery, span: Span) -> Floats | None:
    """Every x that any of the runs has a point at; None where there are more of them than columns."""
    parts = []
    for curve in found:
        with curve.lock:
            points, origin = _points(curve, query)
            start, end = curves.places(points.x, origin, span.low, span.high) if span.low <= span.high else (0, 0)
            # Duplicate steps are rare: many more points than columns are many more x.
            if end - start > 2 * query.buckets:
                return None
            parts.append(np.unique(points.x[start:end] - origin))
    grid = np.unique(np.concatenate(parts)) if parts else np.empty(0)
    return grid if len(grid) <= query.buckets else None


def _points(curve: Curve, query: GroupQuery) -> tuple[Ordered, float]:
    return curve.live.ordered(charts.counted_by(query)), charts.origin_of(curve, query)


def _at_points(found: Sequence[Curve], query: GroupQuery, grid: Floats) -> Floats:
    rows = np.empty((len(found), len(grid)))
    for i, curve in enumerate(found):
        with curve.lock:
            points, origin = _points(curve, query)
            rows[i] = interpolated(points.x - origin, points.values, grid)
    return rows


def _by_columns(found: Sequence[Curve], query: GroupQuery, span: Span) -> tuple[Floats, Floats, Floats, Floats]:
    """The middle of each column of pixels; and of each run, the mean, least and greatest of its points there.

    Where a run has no points in a column but has some before and after it, all three are interpolated.
    """
    edges = np.array(curves.edges(span.low, span.high, query.buckets, query.log_x))
    middles = np.sqrt(edges[:-1] * edges[1:]) if query.log_x else edges[:-1] / 2 + edges[1:] / 2
    levels, lows, highs = (np.full((len(found), len(middles)), np.nan) for _ in range(3))
    for i, curve in enumerate(found):
        with curve.lock:
            points, origin = _points(curve, query)
            start, end = curves.places(points.x, origin, span.low, span.high)
            names = ("x", "min", "max", "mean")
            columns = charts.in_columns(points, start, end, query=query, span=span, origin=origin, names=names)
            x, least, greatest, mean = columns.values()
            at = np.clip(np.searchsorted(edges, x, "right") - 1, 0, len(middles) - 1)
            levels[i, at], lows[i, at], highs[i, at] = mean, least, greatest
            empty = np.ones(len(middles), np.bool_)
            empty[at] = False
            between = interpolated(points.x - origin, points.values, middles[empty])
            levels[i, empty] = lows[i, empty] = highs[i, empty] = between
    return middles, levels, lows, highs


def interpolated(x: Floats, values: Floats, grid: Floats) -> Floats:
    """The values at each x of the grid: those that are there, and between two finite neighbours the straight line.

    NaN outside the points, and beside a value that is not finite. Of points with one x the last counts.
    """
    out = np.full(len(grid), np.nan)
    if not len(x):
        return out
    right = np.searchsorted(x, grid, "right")
    left = right - 1
    inside = left >= 0
    hit = inside & (x[np.maximum(left, 0)] == grid)
    out[hit] = values[left[hit]]
    between = inside & ~hit & (right < len(x))
    a, b = left[between], right[between]
    # The neighbour on the right is the last point of its x.
    b = np.searchsorted(x, x[b], "right") - 1
    part = (grid[between] - x[a]) / (x[b] - x[a])
    with np.errstate(invalid="ignore"):  # an infinity times nothing
        out[between] = values[a] * (1 - part) + values[b] * part
    out[~np.isfinite(out)] = np.nan
    return out
