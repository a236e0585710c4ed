"""Plans to rows: the columns that a batch inserts into each table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.database import rollup
from pulseboard.database.push.ledger import Plan
from pulseboard.database.push.logged import Logged
from pulseboard.database.push.state import PartState
from pulseboard.database.span import Span

Columns = dict[str, tuple[str, Any]]

_POINTS = {"part": "UInt64", "tag": "UInt64", "seq": "UInt64", "step": "Int64", "wall": "Float64"}

_SPAN = {"file": "LowCardinality(String)", "offset": "UInt64", "length": "UInt64", "crc": "UInt32"}
_IN_DATABASE = Span("", 0, 0, 0)


def _of_ids(part: int, tag: int, n: int) -> dict[str, NDArray[Any]]:
    return {"part": np.full(n, part, np.uint64), "tag": np.full(n, tag, np.uint64)}


def _joined(pieces: Sequence[dict[str, Any]], types: dict[str, str]) -> Columns:
    return {name: (kind, np.concatenate([piece[name] for piece in pieces])) for name, kind in types.items()}


def point_rows(batch: Iterable[tuple[Plan, dict[int, Logged]]]) -> Columns:
    """The scalar points of a batch."""
    pieces = []
    for plan, series in batch:
        for tag, start, end in plan.ranges():
            one = series[tag]
            if one.scalar and start < end:
                columns = _of_ids(plan.part, tag, end - start)
                columns |= {"seq": np.arange(start, end, dtype=np.uint64), "step": one.steps[start:end]}
                pieces.append(columns | {"wall": one.walls[start:end], "value": one.values[start:end]})
    return _joined(pieces, {**_POINTS, "value": "Float64"}) if pieces else {}


def rollup_rows(batch: Iterable[tuple[Plan, dict[int, Logged]]]) -> Columns:
    """The blocks that a batch completes."""
    pieces = []
    for plan, series in batch:
        for tag, start, end in plan.ranges():
            one = series[tag]
            if one.scalar:
                for blocks in rollup.rollups(one.steps, one.walls, one.values, start=start, end=end):
                    pieces.append(_of_ids(plan.part, tag, len(blocks["block"])) | blocks)
    return _joined(pieces, {"part": "UInt64", "tag": "UInt64", **rollup.COLUMNS}) if pieces else {}


def value_rows(batch: Iterable[tuple[Plan, dict[int, Logged]]]) -> Columns:
    """The other values of a batch: their bytes, or where these are in the log."""
    pieces = []
    stored: list[bytes | Span] = []
    for plan, series in batch:
        for tag, start, end in plan.ranges():
            one = series[tag]
            if one.read is not None and one.value_fields is not None and start < end:
                columns = _of_ids(plan.part, tag, end - start)
                columns |= {"seq": np.arange(start, end, dtype=np.uint64), "step": one.steps[start:end]}
                pieces.append(columns | {"wall": one.walls[start:end], "field": one.value_fields[start:end]})
                stored += one.read(start, end)
    if not pieces:
        return {}
    spans = [one if isinstance(one, Span) else _IN_DATABASE for one in stored]
    places = zip(*((os.fsencode(one.file), *one[1:]) for one in spans), strict=True)
    of_spans: Columns = {name: (kind, list(column)) for (name, kind), column in zip(_SPAN.items(), places, strict=True)}
    data = [b"" if isinstance(one, Span) else one for one in stored]
    return {**_joined(pieces, {**_POINTS, "field": "UInt32"}), "data": ("String", data), **of_spans}


def series_rows(batch: Iterable[tuple[Plan, PartState, dict[int, Logged]]]) -> Columns:
    """What is known of the series of a batch now that its points are in."""
    rows: list[tuple[Any, ...]] = []
    for plan, state, series in batch:
        for tag in plan.tags:
            one, now = series[tag], state.series[tag]
            rows.append(
                (
                    *(plan.part, tag, plan.number, one.name, one.position, one.scalar, now.count, *now.checks),
                    *(now.step_rising, now.wall_rising, now.orphans),
                    *(one.plugin, list(one.fields), one.metadata, one.axis),
                )
            )
    types = {
        "part": "UInt64", "tag": "UInt64", "number": "UInt32", "name": "String", "position": "UInt32",
        "scalar": "Bool", "count": "UInt64", "check_step": "UInt32", "check_wall": "UInt32", "check_value": "UInt32",
        "step_rising": "Bool", "wall_rising": "Bool", "orphans": "Array(UInt64)", "plugin": "Nullable(String)",
        "fields": "Array(UInt32)", "metadata": "String", "axis": "String",
    }  # fmt: skip
    columns = list(zip(*rows, strict=True))
    return {name: (kind, list(column)) for (name, kind), column in zip(types.items(), columns, strict=True)}


ROWS: dict[str, Callable[[Iterable[tuple[Plan, dict[int, Logged]]]], Columns]] = {
    "stored_values": value_rows,
    "rollup": rollup_rows,
    "points": point_rows,
}
"""What a batch inserts into each table; empty if that is nothing."""
