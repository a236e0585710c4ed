"""The ledger: which points are to be inserted next, agreed on by everyone who pushes the same run.

A plan says which points of which series come next. If two pushers plan for the same part at the same time, the plan
that reached the table first counts, and both carry that one out: with the same bounds, under the same token, so that
its rows are inserted once. A plan that is not done when a pusher starts is carried out again in the same way.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pulseboard.database.connection import Connection

_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Plan:
    """Points of one part: for each tag, from start to end."""

    part: int
    number: int
    batch: int
    tags: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def ranges(self) -> Iterable[tuple[int, int, int]]:
        """Tag, start and end of each series."""
        return zip(self.tags, self.starts, self.ends, strict=True)


class Ledger:
    """Plans in a database."""

    def __init__(self, connection: Connection, *, pusher: str) -> None:
        self._connection, self._pusher = connection, pusher

    def new_batch(self) -> int:
        """The number of a batch: plans that are carried out together, under one token."""
        return secrets.randbits(64)

    def propose(self, plans: Sequence[Plan]) -> None:
        """Write down the plans of one batch. May be repeated."""
        self._write(plans, "plan")

    def finish(self, plans: Sequence[Plan]) -> None:
        """Write down that the plans of one batch are done. May be repeated."""
        self._write(plans, "done")

    def _write(self, plans: Sequence[Plan], state: str) -> None:
        done = state == "done"
        empty: tuple[int, ...] = ()
        columns: dict[str, tuple[str, list[Any]]] = {
            "part": ("UInt64", [plan.part for plan in plans]),
            "number": ("UInt32", [plan.number for plan in plans]),
            "state": ("Enum8('plan' = 1, 'done' = 2, 'void' = 3)", [state] * len(plans)),
            "batch": ("UInt64", [plan.batch for plan in plans]),
            "tags": ("Array(UInt64)", [empty if done else plan.tags for plan in plans]),
            "starts": ("Array(UInt64)", [empty if done else plan.starts for plan in plans]),
            "ends": ("Array(UInt64)", [empty if done else plan.ends for plan in plans]),
            "pusher": ("String", [self._pusher] * len(plans)),
        }
        self._connection.insert("ledger", columns, token=f"{state}-{plans[0].batch:016x}")

    def numbers(self, parts: Iterable[int]) -> dict[int, int]:
        """The number of the next plan of each part: that of its last done plan, and one."""
        sql = """SELECT part, max(number) + 1 FROM {db}.ledger
        WHERE part IN {parts:Array(UInt64)} AND state = 'done' GROUP BY part"""
        return {
            part: number for chunk in _chunks(parts) for part, number in self._connection.rows(sql, parts=list(chunk))
        }

    def first_plans(self, numbers: Mapping[int, int]) -> dict[int, Plan]:
        """The plan that counts for each part and number: the first in the table. Parts without one are left out."""
        sql = """SELECT part, number, batch, tags, starts, ends FROM {db}.ledger
        WHERE part IN {parts:Array(UInt64)}
        AND (part, number) IN arrayZip({parts:Array(UInt64)}, {numbers:Array(UInt32)}) AND state = 'plan'
        ORDER BY _block_number, _block_offset LIMIT 1 BY part, number"""
        return {plan.part: plan for plan in self._plans(sql, numbers)}

    def is_done(self, plan: Plan) -> bool:
        """Whether someone has carried out a plan."""
        return self.numbers([plan.part]).get(plan.part, 0) > plan.number

    def batch_of(self, plan: Plan) -> list[Plan]:
        """The plans of the same batch that count: all of them are carried out together."""
        sql = """SELECT part, number FROM {db}.ledger WHERE batch = {batch:UInt64} AND state = 'plan'"""
        members = {int(part): int(number) for part, number in self._connection.rows(sql, batch=plan.batch)}
        first = self.first_plans(members).values()
        return sorted((one for one in first if one.batch == plan.batch), key=lambda one: one.part)

    def _plans(self, sql: str, numbers: Mapping[int, int]) -> Iterable[Plan]:
        for parts in _chunks(numbers):
            for row in self._connection.rows(sql, parts=parts, numbers=[numbers[part] for part in parts]):
                part, number, batch, *arrays = row
                yield Plan(part, number, batch, *(tuple(map(int, array)) for array in arrays))


def _chunks(items: Iterable[int]) -> Iterable[list[int]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk
