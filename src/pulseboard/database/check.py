"""Checks a database: every point is there exactly once, rollups match the points, and the ledger explains all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from pulseboard.database.connection import Connection
from pulseboard.database.rollup import SHIFTS

_MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it must be."""

    kind: str  # points, values, rollup or ledger
    run: str
    tag: str
    what: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found."""

    runs: int
    series: int
    points: int
    open_plans: int  # that a pusher is carrying out now, or will when it is started again
    problems: tuple[Problem, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"schema": 1, **asdict(self), "problems": [asdict(problem) for problem in self.problems]}


def check(connection: Connection) -> CheckResult:
    """Compare points, values, rollups and the ledger with each other. Raises DatabaseError.

    Points that are being inserted meanwhile are not counted as wrong: their plans are open.
    """
    in_flight = {int(part) for (part,) in connection.rows(_OPEN)}
    names = {int(part): name for part, name in connection.rows(_NAMES)}
    problems: list[Problem] = []
    for table, scalar in (("points", True), ("stored_values", False)):
        found = connection.rows(_COUNTS.replace("TABLE", table), scalar=scalar)
        problems += _counts(found, names, in_flight, kind="points" if scalar else "values")
    for shift in SHIFTS:
        for part, tag, blocks in connection.rows(_ROLLUPS, shift=shift):
            if part not in in_flight:
                what = f"{blocks} blocks of {1 << shift} points differ from the points"
                problems.append(Problem("rollup", names.get(part, f"part {part}"), tag, what))
    for part, number in connection.rows(_UNPLANNED):
        problems.append(
            Problem("ledger", names.get(part, f"part {part}"), "", f"plan {number} is done twice or unplanned")
        )
    runs, series, points = connection.rows(_TOTALS)[0]
    return CheckResult(runs, series, points, len(in_flight), tuple(problems))


def _counts(rows: list[tuple[Any, ...]], names: dict[int, str], in_flight: set[int], *, kind: str) -> Iterator[Problem]:
    for part, tag, count, planned, n, top, total, pruned in rows:
        run = names.get(part, f"part {part}")
        if part in in_flight:
            continue
        expected = count - pruned
        if n and n > top - pruned:
            yield Problem(kind, run, tag, f"{n - top + pruned} of {n} rows are there twice")
        elif n != expected:
            yield Problem(kind, run, tag, f"{n} rows, expected {expected}")
        elif n and (top != count or total != (pruned + count - 1) * n // 2):
            yield Problem(kind, run, tag, f"rows are missing among {n}")
        elif planned != count:
            yield Problem("ledger", run, tag, f"plans for {planned} rows, expected {count}")


# The plan that counts is the first one in the table.
_FIRST = """(SELECT part, number, batch, tags, starts, ends FROM {db}.ledger WHERE state = 'plan'
    ORDER BY _block_number, _block_offset LIMIT 1 BY part, number)"""

_DONE = "(SELECT DISTINCT part, number FROM {db}.ledger WHERE state = 'done')"


_NAMES = """SELECT p.part, r.name FROM {db}.parts AS p INNER JOIN (SELECT run, name FROM {db}.runs FINAL) AS r
    ON r.run = p.run"""

# Only the last generation of a part counts: what was replaced in the log is being deleted.
_LIVE = """(SELECT argMax(part, generation) AS part FROM {db}.parts GROUP BY run, rank)"""

# What retention removed: the first points of a series.
_PRUNED = "(SELECT part, tag, points FROM {db}.pruned FINAL)"

_OPEN = f"SELECT DISTINCT part FROM {_FIRST} WHERE (part, number) NOT IN {_DONE} AND part IN {_LIVE}"

_COUNTS = f"""
WITH planned AS (
    SELECT part, tag, sum(end - start) AS n
    FROM {_FIRST} ARRAY JOIN tags AS tag, starts AS start, ends AS end
    WHERE (part, number) IN {_DONE} GROUP BY part, tag),
found AS (SELECT part, tag, count() AS n, max(seq) + 1 AS top, sum(seq) AS total FROM {{db}}.TABLE GROUP BY part, tag)
SELECT s.part, s.name, s.count, planned.n, found.n, found.top, found.total, pruned.points
FROM (SELECT part, tag, name, count FROM {{db}}.series FINAL
      WHERE scalar = {{scalar:Bool}} AND part IN {_LIVE}) AS s
LEFT JOIN planned ON planned.part = s.part AND planned.tag = s.tag
LEFT JOIN found ON found.part = s.part AND found.tag = s.tag
LEFT JOIN {_PRUNED} AS pruned ON pruned.part = s.part AND pruned.tag = s.tag
WHERE s.count != found.n + pruned.points OR s.count != planned.n OR (found.n > 0 AND found.top != s.count)
   OR found.total * 2 != found.n * (found.n + 2 * pruned.points - 1) AND found.n > 0
ORDER BY s.name LIMIT {_MAX_SHOWN}"""

# Each block twice, once from the points and once from the rollup, must be the same row.
_ROLLUPS = f"""
SELECT wrong.part, any(s.name), count() FROM (
    SELECT part, tag, block FROM (
        SELECT part, tag, bitShiftRight(seq, {{shift:UInt8}}) AS block, (
            countIf(isNaN(value)), countIf(value = inf), countIf(value = -inf), countIf(isFinite(value)) > 0,
            argMinIf(value, seq, isFinite(value)), minIf(value, isFinite(value)),
            maxIf(value, isFinite(value)), argMaxIf(value, seq, isFinite(value)),
            argMin(step, seq), argMax(step, seq)) AS row
        FROM {{db}}.points WHERE part IN {_LIVE}
        GROUP BY part, tag, block HAVING count() >= bitShiftLeft(toUInt64(1), {{shift:UInt8}})
        UNION ALL
        SELECT r.part, r.tag, block, (
            toUInt64(nans), toUInt64(plus_infs), toUInt64(minus_infs), NOT isNaN(first),
            if(isNaN(first), 0, first), if(isNaN(min), 0, min), if(isNaN(max), 0, max),
            if(isNaN(last), 0, last), step_first, step_last) AS row
        FROM {{db}}.rollup AS r LEFT JOIN {_PRUNED} AS pruned ON pruned.part = r.part AND pruned.tag = r.tag
        WHERE shift = {{shift:UInt8}} AND part IN {_LIVE} AND bitShiftLeft(block, shift) >= pruned.points)
    GROUP BY part, tag, block HAVING count() != 2 OR min(row) != max(row)) AS wrong
LEFT JOIN (SELECT part, tag, name FROM {{db}}.series FINAL) AS s ON s.part = wrong.part AND s.tag = wrong.tag
GROUP BY wrong.part, wrong.tag LIMIT {_MAX_SHOWN}"""

_UNPLANNED = f"""SELECT part, number FROM {{db}}.ledger WHERE state = 'done'
    AND (part, number) NOT IN (SELECT part, number FROM {{db}}.ledger WHERE state = 'plan') LIMIT {_MAX_SHOWN}"""

_TOTALS = f"""SELECT (SELECT uniqExact(run) FROM {{db}}.runs),
    (SELECT count() FROM {{db}}.series FINAL WHERE part IN {_LIVE}),
    (SELECT count() FROM {{db}}.points WHERE part IN {_LIVE})"""
