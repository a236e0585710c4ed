"""Curves to windows: each reduced to as many columns as the chart has pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.charts.curve import Curve
from pulseboard.charts.line import Line, SortedPoints, XColumn
from pulseboard.charts.query import Query
from pulseboard.charts.results import Window
from pulseboard.kernel import curves
from pulseboard.read.axis.info import AxisInfo

Columns = dict[str, NDArray[Any]]

_NUMBERS = ("x", "first", "min", "max", "last")
_COUNTS = ("count", "nan", "plus_inf", "minus_inf")
_TYPES: dict[str, type] = {**dict.fromkeys(_COUNTS, np.uint32), "at_last": np.int64}


@dataclass(frozen=True, slots=True)
class Span:
    """A chart's range of x. Empty if low is above high."""

    low: float
    high: float

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Both ends; None if it is empty."""
        return (self.low, self.high) if self.low <= self.high else None


def x_column(query: Query) -> XColumn:
    """The column that the query's x is taken from. Over a metric, a curve has the metric's values as steps."""
    return "wall" if query.x in ("relative", "wall") else "step"


def x_origin(curve: Curve, query: Query) -> float:
    """The zero of the query's x for this curve."""
    if query.x != "relative":
        return 0.0
    first = curve.first_wall_time
    return first if math.isfinite(first) else 0.0


def _lines(curve: Curve, query: Query) -> list[Line]:
    return [curve.live, curve.orphaned] if query.orphans else [curve.live]


def span_of(curve: Curve, query: Query) -> Span:
    """The range of x in which this curve has points. The caller holds the curve's lock."""
    low, high = math.inf, -math.inf
    origin, column = x_origin(curve, query), x_column(query)
    for line in _lines(curve, query):
        x = line.sorted_by(column).x
        if query.log_x and len(x):
            start, end = curves.index_range(x, origin, math.ulp(0.0), math.inf)
            x = x[start:end]
        if len(x):
            low, high = min(low, float(x[0] - origin)), max(high, float(x[-1] - origin))
    return Span(low, high)


def common_span(spans: Sequence[Span], query: Query) -> Span:
    """The range of a chart that shows all of these: the query's bounds, or all points where it has no bound."""
    low = min((span.low for span in spans), default=math.inf) if query.start is None else query.start
    high = max((span.high for span in spans), default=-math.inf) if query.end is None else query.end
    if query.log_x and low <= 0:
        # A logarithmic axis has no zero, so it starts at the first point it can show.
        low = min((span.low for span in spans), default=math.inf)
    return Span(low, high)


def window(curve: Curve, query: Query, *, run: str, axis: AxisInfo, span: Span, own: Span) -> Window:
    """One curve in the chart's range; `own` is the range of its points. The caller holds the curve's lock."""
    column, origin = x_column(query), x_origin(curve, query)
    lines = _lines(curve, query)
    sorted_points = [line.sorted_by(column) for line in lines]
    ranges = [
        curves.index_range(points.x, origin, span.low, span.high) if span.low <= span.high else (0, 0)
        for points in sorted_points
    ]
    total = sum(end - start for start, end in ranges)
    exact = total <= query.buckets
    parts: list[Columns] = []
    nan = inf = 0
    for line, points, (start, end) in zip(lines, sorted_points, ranges, strict=True):
        drawn = end > start or (query.neighbors and len(points.x) > 0)
        smooth = line.smoothed(query.smoothing, column) if query.smoothing and drawn else None
        if exact:
            part = _exact(points, start, end, origin=origin, smooth=smooth)
            nan += int(np.isnan(part["y"]).sum())
            inf += int(np.isinf(part["y"]).sum())
        else:
            part = _bucketed(points, start, end, query=query, span=span, origin=origin, smooth=smooth)
            nan += int(part["nan"].sum())
            inf += int(part["plus_inf"].sum()) + int(part["minus_inf"].sum())
        if query.neighbors and span.low <= span.high:
            part = _with_neighbors(part, points, start, end, query=query, origin=origin, smooth=smooth)
        parts.append(part)
    columns = parts[0]
    if query.orphans:
        is_orphan = [np.full(len(part["x"]), i, np.uint32) for i, part in enumerate(parts)]
        if query.smoothing:
            for part in parts:
                part.setdefault("smooth", np.empty(0))
        columns = {name: np.concatenate([part[name] for part in parts]) for name in columns}
        columns["orphan"] = np.concatenate(is_orphan)
    elif query.smoothing:
        columns.setdefault("smooth", np.empty(0))
    return Window(run, curve.tag, total, exact, nan, inf, query.smoothing is not None, columns, axis, own.bounds)


def _exact(points: SortedPoints, start: int, end: int, *, origin: float, smooth: NDArray[Any] | None) -> Columns:
    # Copies: the arrays keep growing, and a window must not keep them alive.
    columns = {"x": points.x[start:end] - origin, "y": points.values[start:end].copy()}
    if smooth is not None:
        columns["smooth"] = smooth[start:end].copy() if points.order is None else smooth[points.order[start:end]]
    return columns


def _bucketed(
    points: SortedPoints,
    start: int,
    end: int,
    *,
    query: Query,
    span: Span,
    origin: float,
    smooth: NDArray[Any] | None,
) -> Columns:
    names = (*_NUMBERS, *_COUNTS, *(("at_last",) if smooth is not None else ()))
    columns = bucket(points, start, end, query=query, span=span, origin=origin, names=names)
    if smooth is not None:
        at = columns.pop("at_last")
        has_finite = at >= 0
        index = at[has_finite] if points.order is None else points.order[at[has_finite]]
        columns["smooth"] = np.full(len(at), np.nan)
        columns["smooth"][has_finite] = smooth[index]
    return columns


def _with_neighbors(
    columns: Columns,
    points: SortedPoints,
    start: int,
    end: int,
    *,
    query: Query,
    origin: float,
    smooth: NDArray[Any] | None,
) -> Columns:
    """The rows of points[start:end] between rows for the nearest points before and after them."""
    before, after = (_neighbor_rows(columns, points, at, origin, smooth) for at in (start - 1, end))
    if query.log_x and len(before["x"]) and before["x"][0] <= 0:
        before = {name: values[:0] for name, values in before.items()}
    return {name: np.concatenate([before[name], values, after[name]]) for name, values in columns.items()}


def _neighbor_rows(
    columns: Columns, points: SortedPoints, at: int, origin: float, smooth: NDArray[Any] | None
) -> Columns:
    """The row of one point as if it were alone in its pixel column; no row if there is no such point."""
    if not 0 <= at < len(points.x):
        return {name: values[:0] for name, values in columns.items()}
    value = float(points.values[at])
    finite = value if math.isfinite(value) else math.nan
    row: dict[str, float] = {"x": float(points.x[at]) - origin, "y": value, "count": 1}
    row |= dict.fromkeys(("first", "min", "max", "last"), finite)
    row |= {"nan": math.isnan(value), "plus_inf": value == math.inf, "minus_inf": value == -math.inf}
    if smooth is not None:
        row["smooth"] = float(smooth[at if points.order is None else points.order[at]])
    return {name: np.array([row[name]], values.dtype) for name, values in columns.items()}


def bucket(
    points: SortedPoints, start: int, end: int, *, query: Query, span: Span, origin: float, names: Sequence[str]
) -> Columns:
    """Reduce points[start:end] to the query's buckets: the named statistics of each bucket that has points."""
    rows = curves.bucket(
        points.x,
        points.values,
        points.pyramid,
        start,
        end,
        origin=origin,
        low=span.low,
        high=span.high,
        columns=query.buckets,
        logarithmic=query.log_x,
        names=names,
    )
    return {name: np.frombuffer(row, _TYPES.get(name, np.float64)) for name, row in rows.items()}


def as_float32(numbers: NDArray[Any]) -> bytearray | None:
    """The numbers as float32, half the bytes, if that changes none of them; otherwise None."""
    return curves.as_float32(np.ascontiguousarray(numbers, np.float64))
