"""Windows of long series from rollups: whole blocks inside a pixel column, and points where a column begins or ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.charts.query import Query
from pulseboard.charts.results import Window
from pulseboard.charts.windows import Span, x_column
from pulseboard.database.connection import Connection
from pulseboard.database.rollup import SHIFTS
from pulseboard.database.stored.series_rows import SeriesRow
from pulseboard.kernel import curves
from pulseboard.read.axis.info import AxisInfo

Rows = NDArray[np.void]

_ROW = np.dtype(
    [
        *{
            **{"seq": "<i8", "n": "<i8", "x": "<f8", "x_last": "<f8", "first": "<f8", "min": "<f8", "max": "<f8"},
            **{"last": "<f8", "nan": "<i8", "plus_inf": "<i8", "minus_inf": "<i8"},
        }.items()
    ]
)
"""Points [seq, seq + n) of a series in one row: a block, or one point."""

_BLOCKS = """SELECT toInt64(bitShiftLeft(block, shift)), toInt64(bitShiftLeft(toUInt64(1), shift)),
    toFloat64(COLUMN_first), toFloat64(COLUMN_last), first, min, max, last,
    toInt64(nans), toInt64(plus_infs), toInt64(minus_infs)
FROM {db}.rollup WHERE tag = {tag:UInt64} AND part = {part:UInt64} AND shift = {shift:UInt8}
    AND block >= {start:UInt64} AND block < {end:UInt64}
    AND (bitShiftRight(block, 6) IN {within:Array(UInt64)} OR block >= {rest:UInt64}) ORDER BY block"""

_POINTS = """SELECT toInt64(seq), toFloat64(COLUMN), value FROM {db}.points
WHERE tag = {tag:UInt64} AND part = {part:UInt64} AND seq >= {start:UInt64} AND seq < {end:UInt64}
    AND (bitShiftRight(seq, 6) IN {within:Array(UInt64)} OR seq >= {rest:UInt64}) ORDER BY seq"""


_BLOCK = 1 << SHIFTS[0]

# The first point of a block, or its last one.
_PRUNED_ENDS = f"""SELECT arrayJoin({{seqs:Array(UInt64)}}) AS seq,
    toFloat64(if(seq % {_BLOCK}, step_last, step_first)), if(seq % {_BLOCK}, wall_last, wall_first)
FROM {{db}}.rollup WHERE tag = {{tag:UInt64}} AND part = {{part:UInt64}} AND shift = {SHIFTS[0]}
    AND block = intDiv(seq, {_BLOCK})"""

_END = np.dtype([("seq", "<u8"), ("step", "<f8"), ("wall", "<f8")])


@dataclass(frozen=True)
class LongSeries:
    """A series that is too long to read for every chart. Its points that are not orphaned must rise in x."""

    connection: Connection
    part: int
    row: SeriesRow

    def live(self) -> list[tuple[int, int]]:
        """The ranges of points that are not orphaned."""
        edges = [0, *self.row.orphans, self.row.points]
        return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]

    def origin(self, query: Query) -> float:
        """The zero of the query's x: for relative time, the wall time of its first point, orphaned or not."""
        if query.x != "relative":
            return 0.0
        firsts = [start for start, _ in self.live()[:1]] + list(self.row.orphans[:1])
        walls = [self._ends[seq]["wall"] for seq in firsts if not math.isnan(self._ends[seq]["wall"])]
        return min(walls) if walls and math.isfinite(min(walls)) else 0.0

    def span(self, query: Query) -> Span:
        """The range of x in which it has points."""
        live, origin = self.live(), self.origin(query)
        if not live:
            return Span(math.inf, -math.inf)
        first, last = (self._ends[seq][x_column(query)] - origin for seq in (live[0][0], live[-1][1] - 1))
        return Span(first, last)

    @cached_property
    def _ends(self) -> dict[int, dict[str, float]]:
        """Step and wall time of its first and last points, by `seq`."""
        live = self.live()
        seqs = {*(live[0][0], live[-1][1] - 1), *self.row.orphans[:1]} if live else set(self.row.orphans[:1])
        sql = """SELECT seq, toFloat64(step), wall FROM {db}.points
        WHERE tag = {tag:UInt64} AND part = {part:UInt64} AND seq IN {seqs:Array(UInt64)}"""
        rows = self.connection.array(sql, _END, tag=self.row.tag, part=self.part, seqs=sorted(seqs)).tolist()
        if pruned := sorted(seq for seq in seqs if seq < self.row.pruned):
            sql = _PRUNED_ENDS
            rows += self.connection.array(sql, _END, tag=self.row.tag, part=self.part, seqs=pruned).tolist()
        return {int(seq): {"step": float(step), "wall": float(wall)} for seq, step, wall in rows}

    def window(self, query: Query, *, run: str, axis: AxisInfo, span: Span, own: Span) -> Window:
        """The series in the chart's range."""
        origin = self.origin(query)
        inside, before, after = self._rows(query, span, origin)
        total = int(inside["n"].sum())
        exact = total <= query.buckets and not (inside["seq"] < self.row.pruned).any()
        if exact:
            inside = self._as_points(inside, query)
            columns = {"x": inside["x"] - origin, "y": inside["first"].copy()}
        else:
            columns = _bucketed(inside, query=query, span=span, origin=origin)
        if query.neighbors and span.low <= span.high:
            rows = [self._as_points(row, query) for row in (before, after)]
            columns = _with_neighbors(columns, *rows, origin=origin)
        if query.orphans:
            columns["orphan"] = np.zeros(len(columns["x"]), np.uint32)
        nan, inf = (int(inside[names].sum()) for names in ("nan", "plus_inf"))
        inf += int(inside["minus_inf"].sum())
        return Window(run, self.row.name, total, exact, nan, inf, False, columns, axis, own.bounds)

    def _rows(self, query: Query, span: Span, origin: float) -> tuple[Rows, Rows, Rows]:
        """Rows that each are inside one pixel column, and the rows before and after the chart's range.

        From the largest blocks to single points: what is in two columns, or orphaned in part, is divided further.
        """
        inside: list[Rows] = []
        before, after = np.empty(0, _ROW), np.empty(0, _ROW)
        edges = np.array(curves.edges(span.low, span.high, query.buckets, False)) if span.low <= span.high else None
        divided, done = np.empty(0, np.uint64), 0  # blocks to divide, and where they end: the rest is not in blocks
        for shift in self._shifts(query, span):
            rows = self._read(shift, query, within=divided, start=done)
            clean, dead = self._liveness(rows)
            x_first, x_last = rows["x"] - origin, rows["x_last"] - origin
            early, late = clean & (x_last < span.low), clean & (x_first > span.high)
            within = clean & (x_first >= span.low) & (x_last <= span.high)
            if edges is not None:
                columns = [
                    np.clip(np.searchsorted(edges, x, "right") - 1, 0, len(edges) - 2) for x in (x_first, x_last)
                ]
                within &= columns[0] == columns[1]
            else:
                within[:] = False
            if shift == SHIFTS[0] and self.row.pruned:
                # The points of these are gone: each counts as a whole where it begins, unless it is orphaned in part.
                whole = rows["seq"] < self.row.pruned
                if edges is not None:
                    within |= whole & clean & ~early & ~late
                dead |= whole & ~clean
            inside.append(rows[within])
            before = _latest(before, rows[early], last=True)
            after = _latest(after, rows[late], last=False)
            divided = (rows["seq"][~(within | early | late | dead)] >> shift).astype(np.uint64)
            done = self.row.points >> shift << shift
        found = np.concatenate(inside)
        return found[np.argsort(found["seq"], kind="stable")], before, after

    def _shifts(self, query: Query, span: Span) -> list[int]:
        """The sizes of blocks to read. Of a whole series, those that are wider than a pixel column say nothing."""
        own = self.span(query)
        whole = span.low <= own.low and span.high >= own.high
        wide = [shift for shift in SHIFTS[1:] if whole and self.row.points >> shift < query.buckets]
        return [shift for shift in (*reversed(SHIFTS), 0) if shift not in wide]

    def _read(self, shift: int, query: Query, *, within: NDArray[np.uint64], start: int) -> Rows:
        """The blocks of one size in the given larger ones, and all after `start`, which no larger one holds."""
        end = self.row.points >> shift
        rest = start >> shift
        low = min(int(within[0]) << 6, rest) if len(within) else rest
        if low >= end:
            return np.empty(0, _ROW)
        if not shift:
            return self._points(query, start=low, end=end, rest=rest, within=within.tolist())
        sql, of = _BLOCKS.replace("COLUMN", x_column(query)), {"tag": self.row.tag, "part": self.part, "shift": shift}
        return self.connection.array(sql, _ROW, **of, start=low, end=end, rest=rest, within=within.tolist())

    def _points(self, query: Query, *, start: int, end: int, rest: int, within: list[int]) -> Rows:
        """The points in the given blocks, and all from `rest` on, as rows."""
        sql, of = _POINTS.replace("COLUMN", x_column(query)), {"tag": self.row.tag, "part": self.part}
        seq, x, value = self.connection.columns(
            sql, "<i8", "<f8", "<f8", **of, start=start, end=end, rest=rest, within=within
        )
        rows = np.empty(len(seq), _ROW)
        columns = {"seq": seq, "n": 1, "x": x, "x_last": x, "nan": np.isnan(value)}
        columns |= dict.fromkeys(("first", "min", "max", "last"), value)
        columns |= {"plus_inf": np.isposinf(value), "minus_inf": np.isneginf(value)}
        for name, column in columns.items():
            rows[name] = column
        return rows

    def _liveness(self, rows: Rows) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rows have no orphaned point, and which have only those."""
        if not self.row.orphans:
            return np.ones(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
        edges = np.array(self.row.orphans)
        first = np.searchsorted(edges, rows["seq"], "right")
        last = np.searchsorted(edges, rows["seq"] + rows["n"] - 1, "right")
        return (first == last) & (first % 2 == 0), (first == last) & (first % 2 == 1)

    def _as_points(self, rows: Rows, query: Query) -> Rows:
        """The points of a few rows, which may be blocks."""
        if (rows["n"] == 1).all():
            return rows
        pieces = []
        for i, (seq, n) in enumerate(zip(rows["seq"].tolist(), rows["n"].tolist(), strict=True)):
            start, end = seq, seq + n
            if seq < self.row.pruned:
                pieces.append(rows[i : i + 1])
                continue
            pieces.append(self._points(query, start=start, end=end, rest=start, within=[]))
        return np.concatenate(pieces)


def _latest(known: Rows, found: Rows, *, last: bool) -> Rows:
    """The row next to the chart's range, of one known before and those found."""
    both = np.concatenate([known, found])
    at = both["seq"].argmax() if last and len(both) else both["seq"].argmin() if len(both) else 0
    return both[at : at + 1]


def _bucketed(rows: Rows, *, query: Query, span: Span, origin: float) -> dict[str, NDArray[Any]]:
    """One row per pixel column, from rows that each are inside one."""
    edges = np.array(curves.edges(span.low, span.high, query.buckets, False))
    column = np.clip(np.searchsorted(edges, rows["x"] - origin, "right") - 1, 0, len(edges) - 2)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    finite = np.isfinite(rows["first"])  # NaN in a block without finite values, and in a point that is not finite
    index, last_index = np.arange(len(rows)), len(rows) - 1
    first_at = np.minimum.reduceat(np.where(finite, index, last_index), starts)
    last_at = np.maximum.reduceat(np.where(finite, index, 0), starts)
    any_finite = np.logical_or.reduceat(finite, starts)

    def of_finite(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(any_finite, numbers, np.nan)

    low = np.minimum.reduceat(np.where(finite, rows["min"], np.inf), starts)
    high = np.maximum.reduceat(np.where(finite, rows["max"], -np.inf), starts)
    columns: dict[str, NDArray[Any]] = {
        "x": rows["x"][starts] - origin,
        "first": of_finite(rows["first"][first_at]),
        "min": of_finite(low),
        "max": of_finite(high),
        "last": of_finite(rows["last"][last_at]),
    }
    counts = {"count": "n", "nan": "nan", "plus_inf": "plus_inf", "minus_inf": "minus_inf"}
    return columns | {name: np.add.reduceat(rows[field], starts).astype(np.uint32) for name, field in counts.items()}


def _with_neighbors(
    columns: dict[str, NDArray[Any]], before: Rows, after: Rows, *, origin: float
) -> dict[str, NDArray[Any]]:
    """The rows of a window between those of the nearest points outside of it, each as if alone in its column."""

    def of(points: Rows, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        finite = np.where(np.isfinite(points["first"]), points["first"], np.nan)
        rows = {"x": points["x"] - origin, "y": points["first"], "count": points["n"]}
        rows |= dict.fromkeys(("first", "min", "max", "last"), finite)
        rows |= {count: points[count] for count in ("nan", "plus_inf", "minus_inf")}
        return rows[name].astype(dtype)

    return {
        name: np.concatenate([of(before[-1:], name, column.dtype), column, of(after[:1], name, column.dtype)])
        for name, column in columns.items()
    }
