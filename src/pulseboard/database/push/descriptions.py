"""Descriptions of runs and copies of their small files in the database, written when they change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pulseboard.database.connection import Connection
from pulseboard.database.ids import part_id
from pulseboard.database.push.metadata import as_json, contents, description, file_times
from pulseboard.database.push.state import PartState
from pulseboard.read.config.sources import run_file_of, shared_directories
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs

StateOf = Callable[[int, int], PartState | None]


class Descriptions:
    """What is stored about runs other than what they logged."""

    def __init__(self, connection: Connection, *, host: str) -> None:
        self._connection, self._host = connection, host
        self._shared: frozenset[str] = frozenset()
        self._written: dict[int, str] = {}  # by run
        self._file_times: dict[int, dict[str, tuple[str, int]]] = {}
        self._running: set[int] = set()  # runs whose run.json says that they are running

    def share(self, runs: Runs) -> None:
        """Find out which directories hold several runs: a configuration there may belong to any of them."""
        self._shared = shared_directories(runs.values())

    def update(self, runs: Mapping[int, Run], *, state_of: StateOf, changed_only: bool = False) -> None:
        """Write the files and the description of each run. Readers look for runs that were described since."""
        self._update_files(runs)
        rows: list[tuple[Any, ...]] = []
        for run_id, run in runs.items():
            info = as_json(self._describe(run_id, run, state_of))
            if not changed_only or info != self._written.get(run_id):
                rows.append((run_id, run.name, self._host, info))
        if not rows:
            return
        ids, names, hosts, infos = zip(*rows, strict=True)
        columns = {
            "run": ("UInt64", list(ids)),
            "name": ("String", list(names)),
            "host": ("String", list(hosts)),
            "info": ("String", list(infos)),
        }
        self._connection.insert("runs", columns, token="")
        self._written |= dict(zip(ids, infos, strict=True))

    def update_changed(self, runs: Runs, *, run_id: Callable[[Run], int], state_of: StateOf) -> None:
        """Update the runs that were running, if their files say something else now."""
        by_id = {run_id(run): run for run in runs.values()}
        self.update({one: by_id[one] for one in self._running & by_id.keys()}, state_of=state_of, changed_only=True)

    def _describe(self, run_id: int, run: Run, state_of: StateOf) -> dict[str, Any]:
        ranks = {}
        for rank, of_rank in run.ranks.items():
            state = state_of(run_id, rank)
            if state is None:
                continue
            generation = state.generation if state.shown is None else state.shown
            ranks[str(rank)] = {"part": str(part_id(run_id, rank, generation)), "name": of_rank.name}
            if rank:
                ranks[str(rank)] |= description(of_rank)
        files = {name: time for name, (_, time) in self._file_times.get(run_id, {}).items()}
        return {**description(run), "ranks": ranks, "files": files}

    def _update_files(self, runs: Mapping[int, Run]) -> None:
        rows: list[tuple[int, str, bytes]] = []
        for run_id, run in runs.items():
            before, now = self._file_times.get(run_id, {}), file_times(run, shared=self._shared)
            changed = {name: path for name, (path, time) in now.items() if before.get(name) != (path, time)}
            rows += [(run_id, name, content) for name, content in contents(changed)]
            self._file_times[run_id] = now
            (self._running.add if run_file_of(run).status == "running" else self._running.discard)(run_id)
        _insert_files(self._connection, rows)


def _insert_files(connection: Connection, rows: Iterable[tuple[int, str, bytes]]) -> None:
    rows = list(rows)
    if rows:
        ids, names, data = zip(*rows, strict=True)
        columns = {"run": ("UInt64", list(ids)), "name": ("String", list(names)), "content": ("String", list(data))}
        connection.insert("files", columns, token="")
