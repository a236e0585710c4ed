"""Loads from the database how far each part is in."""

from __future__ import annotations

from collections.abc import Iterable

from pulseboard.database.connection import Connection
from pulseboard.database.ids import part_id
from pulseboard.database.push.ledger import Ledger, Plan
from pulseboard.database.push.state import PartState, SeriesState

_CHUNK = 500


class States:
    """The parts that this pusher has met. A state stays here and is advanced with every batch."""

    def __init__(self, connection: Connection, ledger: Ledger) -> None:
        self._connection, self._ledger = connection, ledger
        self._known: dict[tuple[int, int], PartState] = {}

    def of(self, run: int, rank: int) -> PartState | None:
        """The state of a part that was loaded."""
        return self._known.get((run, rank))

    def load(self, keys: Iterable[tuple[int, int]]) -> list[Plan]:
        """Load the parts that are not known yet, by run and rank. Returns the plans that are not done."""
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        open_plans: list[Plan] = []
        for at in range(0, len(new), _CHUNK):
            open_plans += self._load(new[at : at + _CHUNK])
        return open_plans

    def _load(self, keys: list[tuple[int, int]]) -> list[Plan]:
        sql = """SELECT run, rank, max(generation) FROM {db}.parts
        WHERE run IN {runs:Array(UInt64)} GROUP BY run, rank"""
        runs = list(dict.fromkeys(run for run, _ in keys))
        generations = {(run, rank): g for run, rank, g in self._connection.rows(sql, runs=runs)}
        states = {key: PartState(*key, generation=generations[key]) for key in keys if key in generations}
        by_part = {state.id: state for state in states.values()}
        for part, number in self._ledger.numbers(by_part).items():
            by_part[part].number = number
        self._load_series(by_part)
        for key in keys:
            self._known[key] = states.get(key) or PartState(*key)
        return list(self._ledger.first_plans({part: state.number for part, state in by_part.items()}).values())

    def _load_series(self, by_part: dict[int, PartState]) -> None:
        sql = """SELECT part, tag, count, check_step, check_wall, check_value, step_rising, wall_rising, orphans
        FROM {db}.series FINAL WHERE part IN {parts:Array(UInt64)}"""
        for part, tag, count, *checks, step, wall, orphans in self._connection.rows(sql, parts=list(by_part)):
            by_part[part].series[tag] = SeriesState(
                count=count,
                checks=(checks[0], checks[1], checks[2]),
                orphans=list(orphans),
                step_rising=bool(step),
                wall_rising=bool(wall),
                known=True,
            )

    def forget(self, state: PartState) -> None:
        """Load a part again when it is needed next."""
        self._known.pop((state.run, state.rank), None)

    def register(self, states: Iterable[PartState]) -> None:
        """Write down which parts there are, before they have points."""
        new = [state for state in states if not state.registered]
        if not new:
            return
        columns = {
            "part": ("UInt64", [state.id for state in new]),
            "run": ("UInt64", [state.run for state in new]),
            "rank": ("UInt32", [state.rank for state in new]),
            "generation": ("UInt32", [state.generation for state in new]),
        }
        self._connection.insert("parts", columns, token="")
        for state in new:
            state.registered = True

    def replace(self, state: PartState) -> None:
        """Begin a part again, because its log was replaced. The rows of the one before stay until `drop`."""
        state.generation, state.number = state.generation + 1, 0
        state.series.clear()
        state.registered = False

    def drop(self, state: PartState, generations: Iterable[int]) -> None:
        """Delete what was pushed of a part before its log was replaced."""
        for generation in generations:
            old = part_id(state.run, state.rank, generation)
            for table in ("points", "rollup", "stored_values", "series"):
                self._connection.run(f"DELETE FROM {{db}}.{table} WHERE part = {old}")

    def keys_of(self, parts: Iterable[int]) -> dict[int, tuple[int, int]]:
        """The run and rank of each part. Parts that were replaced are left out."""
        sql = """SELECT argMax(part, generation) AS last, run, rank FROM {db}.parts
        WHERE (run, rank) IN (SELECT run, rank FROM {db}.parts WHERE part IN {parts:Array(UInt64)})
        GROUP BY run, rank HAVING has({parts:Array(UInt64)}, last)"""
        return {part: (run, rank) for part, run, rank in self._connection.rows(sql, parts=list(parts))}
