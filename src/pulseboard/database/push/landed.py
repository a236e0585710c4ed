"""Which plans of a batch have their rows in the tables, counted."""

from __future__ import annotations

from pulseboard.database import rollup
from pulseboard.database.connection import Connection
from pulseboard.database.push.ledger import Plan
from pulseboard.database.push.logged import Logged

TABLES = ("stored_values", "rollup", "points")

_RANGE = """FROM {db}.TABLE WHERE part = {part:UInt64} AND tag IN {tags:Array(UInt64)}
AND FIRST >= arrayElement({starts:Array(UInt64)}, indexOf({tags:Array(UInt64)}, tag))
AND LAST < arrayElement({ends:Array(UInt64)}, indexOf({tags:Array(UInt64)}, tag))"""

# A block belongs to the plan that completes it, whose points include its last one.
_LAST_OF_BLOCK = "bitShiftLeft(block + 1, shift) - 1"


def has_landed(connection: Connection, table: str, plan: Plan, series: dict[int, Logged]) -> bool:
    """Whether the rows of a plan are in a table. They are inserted as a whole, so some of them show that all are."""
    wanted = [one for one in plan.ranges() if series[one[0]].scalar != (table == "stored_values") and one[1] < one[2]]
    if table == "rollup":
        wanted = [one for one in wanted if any(one[1] >> shift < one[2] >> shift for shift in rollup.SHIFTS)]
    if not wanted:
        return True
    tags, starts, ends = (list(column) for column in zip(*wanted, strict=True))
    at = _LAST_OF_BLOCK if table == "rollup" else "seq"
    sql = "SELECT count() " + _RANGE.replace("TABLE", table).replace("FIRST", at).replace("LAST", at)
    found: int = connection.rows(sql, part=plan.part, tags=tags, starts=starts, ends=ends)[0][0]
    return found > 0
