"""Points of series that were read from the database, kept up to a memory limit."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pulseboard.database.connection import Connection, DatabaseError
from pulseboard.database.rollup import SHIFTS

_MAX_BYTES = 512 << 20
# More points than this are not fetched in one query.
_MAX_FETCH = 4_000_000

BLOCK = 1 << SHIFTS[0]

_POINT = ("<i8", "<f8", "<f8")

Key = tuple[int, int]
"""Part and tag."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The first points of a series, in the order they were logged."""

    steps: NDArray[np.int64]
    walls: NDArray[np.float64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return self.steps.nbytes + self.walls.nbytes + self.values.nbytes

    def first(self, n: int) -> Points:
        """The first n points."""
        return self if n == len(self) else Points(self.steps[:n], self.walls[:n], self.values[:n])

    def and_then(self, more: Points) -> Points:
        """These points, and then more."""
        return Points(
            np.concatenate([self.steps, more.steps]),
            np.concatenate([self.walls, more.walls]),
            np.concatenate([self.values, more.values]),
        )


class PointCache:
    """Reads points, only those that it does not have. Any thread may use it."""

    def __init__(self, connection: Connection, *, max_bytes: int = _MAX_BYTES) -> None:
        self._connection, self._max_bytes = connection, max_bytes
        self._kept: OrderedDict[Key, Points] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def has(self, part: int, tag: int) -> bool:
        """Whether points of a series are in memory."""
        with self._lock:
            return (part, tag) in self._kept

    def get(self, part: int, tag: int, count: int) -> Points:
        """The first `count` points of a series. Raises DatabaseError if the table has fewer."""
        with self._lock:
            kept = self._kept.get((part, tag))
        have = 0 if kept is None else len(kept)
        if kept is None or have < count:
            more = self.range(part, tag, have, count)
            kept = more if kept is None else kept.and_then(more)
            self._keep((part, tag), kept)
        return kept.first(count)

    def range(self, part: int, tag: int, start: int, end: int) -> Points:
        """Points [start, end) of a series, which are not kept. Raises DatabaseError if the table has fewer."""
        sql = """SELECT step, wall, value FROM {db}.points
        WHERE tag = {tag:UInt64} AND part = {part:UInt64} AND seq >= {start:UInt64} AND seq < {end:UInt64}
        ORDER BY seq"""
        found = Points(*self._connection.columns(sql, *_POINT, tag=tag, part=part, start=start, end=end))
        self._require(len(found), end - start)
        return found

    def ends(self, part: int, tag: int, end: int) -> Points:
        """The first and last point of each block before `end`, with the first and last finite value in it."""
        sql = f"""SELECT arrayJoin([(step_first, wall_first, first), (step_last, wall_last, last)]) AS at,
            at.1, at.2, at.3 FROM {{db}}.rollup
        WHERE tag = {{tag:UInt64}} AND part = {{part:UInt64}} AND shift = {SHIFTS[0]} AND block < {{end:UInt64}}
        ORDER BY block"""
        sql = f"SELECT at.1, at.2, at.3 FROM ({sql})"
        found = Points(*self._connection.columns(sql, *_POINT, tag=tag, part=part, end=end // BLOCK))
        self._require(len(found), end // BLOCK * 2)
        return found

    def fetch(self, wanted: Iterable[tuple[int, int, int]]) -> None:
        """Read many series at once, given as part, tag and count: a query for each would take longer."""
        with self._lock:
            missing = {(part, tag): n for part, tag, n in wanted if n and (part, tag) not in self._kept}
        by = 0 if len({part for part, _ in missing}) == 1 else 1  # a query for the part, or one for each tag
        max_points = min(_MAX_FETCH, self._max_bytes // 48)
        while missing:
            total, chunk = 0, dict[Key, int]()
            for key, n in missing.items():
                if not chunk or (key[by] == next(iter(chunk))[by] and total + n <= max_points):
                    chunk[key] = n
                    total += n
            for key in chunk:
                del missing[key]
            if len(chunk) > 1:
                self._fetch(chunk)

    def _fetch(self, counts: dict[Key, int]) -> None:
        """Read series of one tag, or of one part."""
        # Their keys are not in the answer, which they would double: each series begins where `seq` is 0.
        sql = """SELECT seq = 0, step, wall, value FROM {db}.points
        WHERE tag IN {tags:Array(UInt64)} AND part IN {parts:Array(UInt64)} ORDER BY tag, part, seq"""
        parts, tags = ([*dict.fromkeys(key[i] for key in counts)] for i in (0, 1))
        begins, *columns = self._connection.columns(sql, "<u1", *_POINT, tags=tags, parts=parts)
        starts = np.flatnonzero(begins).tolist()
        if len(starts) != len(counts):
            return  # one of them was removed a moment ago; the others are read one by one
        ends = [*starts[1:], len(begins)]
        for key, start, end in zip(sorted(counts, key=lambda key: key[::-1]), starts, ends, strict=True):
            # A batch that is being inserted may have brought more rows than its series counts so far.
            if end - start >= (n := counts[key]):
                self._keep(key, Points(*(column[start : start + n].copy() for column in columns)))

    def _keep(self, key: Key, points: Points) -> None:
        with self._lock:
            before = self._kept.pop(key, None)
            self._kept[key] = points
            self._bytes += points.nbytes - (0 if before is None else before.nbytes)
            while self._bytes > self._max_bytes and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes

    def _require(self, found: int, expected: int) -> None:
        if found < expected:
            why = f"{expected - found:,} of {expected:,} points of a series are missing."
            raise DatabaseError(str(self._connection.url), why=why, advice="Run `pulseboard db check` on")
