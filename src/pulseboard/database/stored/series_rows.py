"""What the database holds of each series: its name, how many points, and what was orphaned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pulseboard.database.connection import Connection

_CHUNK = 1000


class SeriesRow(NamedTuple):
    """One series of a part: scalars, or other values."""

    tag: int
    name: str
    scalar: bool
    points: int
    step_rising: bool  # over the points that are not orphaned
    wall_rising: bool
    orphans: tuple[int, ...]  # start, end, start, end, …
    plugin: str | None
    fields: tuple[int, ...]
    metadata: bytes
    axis: str
    pruned: int = 0
    """How many of the first points retention has removed: they are in rollups only. A multiple of 64."""


Rows = list[SeriesRow]


def series_rows(connection: Connection, parts: Iterable[int]) -> dict[int, Rows]:
    """The series of each part, in order of appearance. Parts without any have an empty list."""
    wanted = list(parts)
    out: dict[int, Rows] = {part: [] for part in wanted}
    # `metadata` is bytes: the client would take it for text.
    sql = """SELECT s.part, s.tag, name, scalar, count, step_rising, wall_rising, orphans, plugin, fields,
        hex(metadata), axis, p.points
    FROM (SELECT * FROM {db}.series FINAL WHERE part IN {parts:Array(UInt64)}) AS s
    LEFT JOIN (SELECT * FROM {db}.pruned FINAL WHERE part IN {parts:Array(UInt64)}) AS p
    ON p.part = s.part AND p.tag = s.tag
    ORDER BY s.part, position, scalar DESC"""
    for at in range(0, len(wanted), _CHUNK):
        for part, tag, name, scalar, count, step, wall, orphans, *others in connection.rows(
            sql, parts=wanted[at : at + _CHUNK]
        ):
            plugin, fields, metadata, axis, pruned = others
            row = SeriesRow(
                *(tag, name, bool(scalar), count, bool(step), bool(wall), tuple(orphans)),
                *(plugin, tuple(fields), bytes.fromhex(metadata), axis, pruned),
            )
            out[part].append(row)
    return out
