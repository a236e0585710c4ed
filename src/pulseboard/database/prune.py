"""Retention: removes raw points of runs that ended long ago. Rollups stay, so their charts do."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from pulseboard.database.connection import Connection
from pulseboard.database.rollup import SHIFTS

# Servers learn of it before the points are gone: they ask once a second.
NOTICE_SECS = 5.0
_CHUNK = 100
_BLOCK = 1 << SHIFTS[0]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What retention removed, or would remove."""

    runs: int
    points: int
    pinned: int  # runs that are as old and are kept because a user pinned them

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"schema": 1, **asdict(self)}


def prune(
    connection: Connection,
    *,
    keep_secs: float,
    dry_run: bool = False,
    now: float | None = None,
    notice_secs: float = NOTICE_SECS,
) -> Pruned:
    """Remove the raw points of unpinned runs that have logged nothing for so long. May be repeated.

    Only points that are in a block of a rollup are removed: up to 63 per series stay. Raises DatabaseError.
    """
    before = (time.time() if now is None else now) - keep_secs
    pins, runs, pinned = _pinned(connection), list[int](), 0
    for run, host, info in connection.rows("SELECT run, host, info FROM {db}.runs FINAL"):
        described = json.loads(info)
        if max(described["last_active"], described["last_written"]) >= before:
            continue
        if _key(host, *described["identity"]) in pins:
            pinned += 1
        else:
            runs.append(run)
    removed = [0, 0]
    for chunk in _chunks(runs):
        parts = _parts_with_points(connection, chunk)
        for i, n in enumerate((len(set(parts.values())), _count(connection, parts))):
            removed[i] += n
        if parts and not dry_run:
            _remove(connection, parts, notice_secs)
    return Pruned(removed[0], removed[1], pinned)


def _pinned(connection: Connection) -> set[str]:
    """The keys of the marks of runs that users pinned."""
    sql = "SELECT key, value FROM {db}.entries FINAL WHERE kind = 'marks' AND value != ''"
    return {key for key, value in connection.rows(sql) if json.loads(value).get("pinned")}


def _key(host: str, place: str, which: str) -> str:
    """The key of a run's marks: its location as a URL, and which of several runs there it is."""
    url = place if "://" in place else f"file://{host}{place}"
    return f"{url}#{which}" if which else url


def _chunks(runs: list[int]) -> Iterator[list[int]]:
    return (runs[at : at + _CHUNK] for at in range(0, len(runs), _CHUNK))


# What can be removed: points before the last full block, of parts without a plan that is not done.
_REMOVABLE = """SELECT part, tag, bitAnd(count, bitNot(toUInt64(BLOCK - 1))) AS points FROM {db}.series FINAL
    WHERE scalar AND part IN {parts:Array(UInt64)} AND points > 0
    AND (part, tag, points) NOT IN (SELECT part, tag, points FROM {db}.pruned FINAL)
    AND part NOT IN (SELECT part FROM {db}.ledger WHERE part IN {parts:Array(UInt64)}
        GROUP BY part HAVING maxIf(number + 1, state = 'plan') > maxIf(number + 1, state = 'done'))""".replace(
    "BLOCK", str(_BLOCK)
)


def _parts_with_points(connection: Connection, runs: list[int]) -> dict[int, int]:
    """The parts of some runs that have points to remove, each with its run."""
    found = connection.rows("SELECT part, run FROM {db}.parts WHERE run IN {runs:Array(UInt64)}", runs=runs)
    run_of = {int(part): int(run) for part, run in found}
    rows = connection.rows(f"SELECT DISTINCT part FROM ({_REMOVABLE})", parts=list(run_of))
    return {int(part): run_of[int(part)] for (part,) in rows}


def _count(connection: Connection, parts: Iterable[int]) -> int:
    sql = f"""SELECT sum(toInt64(r.points) - toInt64(p.points)) FROM ({_REMOVABLE}) AS r
    LEFT JOIN (SELECT * FROM {{db}}.pruned FINAL) AS p ON p.part = r.part AND p.tag = r.tag"""
    return int(connection.rows(sql, parts=list(parts))[0][0] or 0)


def _remove(connection: Connection, parts: dict[int, int], notice_secs: float) -> None:
    listed, runs = (", ".join(map(str, dict.fromkeys(ids))) for ids in (parts, parts.values()))
    rows = connection.rows(_REMOVABLE, parts=list(parts))
    columns = list(zip(*rows, strict=True))
    names = ("part", "tag", "points")
    connection.insert("pruned", {n: ("UInt64", list(c)) for n, c in zip(names, columns, strict=True)}, token="")
    # Servers read the series of a run again when its description is new.
    connection.run(
        f"""INSERT INTO {{db}}.runs (run, name, host, info)
        SELECT run, name, host, info FROM {{db}}.runs FINAL WHERE run IN ({runs})"""
    )
    time.sleep(notice_secs)
    connection.run(
        f"""DELETE FROM {{db}}.points WHERE part IN ({listed}) AND (part, tag, bitShiftRight(seq, {SHIFTS[0]})) IN
        (SELECT part, tag, block FROM {{db}}.rollup WHERE shift = {SHIFTS[0]} AND part IN ({listed})
         AND (part, tag) IN (SELECT part, tag FROM {{db}}.pruned))"""
    )
