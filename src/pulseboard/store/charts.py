"""Charts: curves to windows, each as many columns as there are pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.native import curves
from pulseboard.store.curve import Curve
from pulseboard.store.line import Counted, Line, Ordered
from pulseboard.store.query import Query, Window

Columns = dict[str, NDArray[Any]]

_NUMBERS = ("x", "first", "min", "max", "last")
_COUNTS = ("count", "nan", "plus_inf", "minus_inf")
_TYPES: dict[str, type] = {**dict.fromkeys(_COUNTS, np.uint32), "at_last": np.int64}


@dataclass(frozen=True, slots=True)
class Span:
    """The range of x of a chart. Empty where low is above high."""

    low: float
    high: float


def counted_by(query: Query) -> Counted:
    """What the query's x is counted in."""
    return "step" if query.x == "step" else "wall"


def origin_of(curve: Curve, query: Query) -> float:
    """Where the query's x begins to count for this curve."""
    if query.x != "relative":
        return 0.0
    first = curve.first_wall
    return first if math.isfinite(first) else 0.0


def lines_of(curve: Curve, query: Query) -> list[Line]:
    """The lines of the curve that the query asks for."""
    return [curve.live, curve.orphaned] if query.orphans else [curve.live]


def span_of(curve: Curve, query: Query) -> Span:
    """The range of the query's x that this curve has points in. The caller holds the curve's lock."""
    low, high = math.inf, -math.inf
    origin, counted = origin_of(curve, query), counted_by(query)
    for line in lines_of(curve, query):
        x = line.ordered(counted).x
        if query.log_x and len(x):
            start, end = curves.places(x, origin, math.ulp(0.0), math.inf)
            x = x[start:end]
        if len(x):
            low, high = min(low, float(x[0] - origin)), max(high, float(x[-1] - origin))
    return Span(low, high)


def common_span(spans: Sequence[Span], query: Query) -> Span:
    """The range of a chart that shows all of these: what the query says, and where it says nothing, all there is."""
    low = min((span.low for span in spans), default=math.inf) if query.start is None else query.start
    high = max((span.high for span in spans), default=-math.inf) if query.end is None else query.end
    if query.log_x and low <= 0:
        # A logarithmic axis has no zero: it begins at the first point that is on it.
        low = min((span.low for span in spans), default=math.inf)
    return Span(low, high)


def window(curve: Curve, query: Query, *, run: str, span: Span) -> Window:
    """One curve in the chart's range. The caller holds the curve's lock."""
    counted, origin = counted_by(query), origin_of(curve, query)
    lines = lines_of(curve, query)
    ordered = [line.ordered(counted) for line in lines]
    places = [curves.places(o.x, origin, span.low, span.high) if span.low <= span.high else (0, 0) for o in ordered]
    points = sum(end - start for start, end in places)
    exact = points <= query.buckets
    parts: list[Columns] = []
    nan = inf = 0
    for line, points_of, (start, end) in zip(lines, ordered, places, strict=True):
        smooth = line.smoothed(query.smoothing, counted) if query.smoothing and end > start else None
        if exact:
            part = _exact(points_of, start, end, origin=origin, smooth=smooth)
            nan += int(np.isnan(part["y"]).sum())
            inf += int(np.isinf(part["y"]).sum())
        else:
            part = _bucketed(points_of, start, end, query=query, span=span, origin=origin, smooth=smooth)
            nan += int(part["nan"].sum())
            inf += int(part["plus_inf"].sum()) + int(part["minus_inf"].sum())
        parts.append(part)
    columns = parts[0]
    if query.orphans:
        marks = [np.full(len(part["x"]), i, np.uint32) for i, part in enumerate(parts)]
        if query.smoothing:
            for part in parts:
                part.setdefault("smooth", np.empty(0))
        columns = {name: np.concatenate([part[name] for part in parts]) for name in columns}
        columns["orphan"] = np.concatenate(marks)
    elif query.smoothing:
        columns.setdefault("smooth", np.empty(0))
    return Window(run, curve.tag, points, exact, nan, inf, query.smoothing is not None, columns)


def _exact(points: Ordered, start: int, end: int, *, origin: float, smooth: NDArray[Any] | None) -> Columns:
    # Copies: the arrays go on growing, and an answer must not hold them.
    columns = {"x": points.x[start:end] - origin, "y": points.values[start:end].copy()}
    if smooth is not None:
        chosen = smooth[start:end].copy() if points.order is None else smooth[points.order[start:end]]
        columns["smooth"] = chosen
    return columns


def _bucketed(
    points: Ordered,
    start: int,
    end: int,
    *,
    query: Query,
    span: Span,
    origin: float,
    smooth: NDArray[Any] | None,
) -> Columns:
    names = (*_NUMBERS, *_COUNTS, *(("at_last",) if smooth is not None else ()))
    columns = in_columns(points, start, end, query=query, span=span, origin=origin, names=names)
    if smooth is not None:
        at = columns.pop("at_last")
        there = at >= 0
        index = at[there] if points.order is None else points.order[at[there]]
        columns["smooth"] = np.full(len(at), np.nan)
        columns["smooth"][there] = smooth[index]
    return columns


def in_columns(
    points: Ordered, start: int, end: int, *, query: Query, span: Span, origin: float, names: Sequence[str]
) -> Columns:
    """Points start to end in the query's columns of pixels: of each that has points, what `names` asks for."""
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


def narrowed(numbers: NDArray[Any]) -> bytearray | None:
    """The numbers as float32, which is half the bytes, if none of them changes by that; else None."""
    return curves.narrowed(np.ascontiguousarray(numbers, np.float64))
