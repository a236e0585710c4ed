"""The pusher: follows runs and inserts what is new, in batches that are carried out once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pulseboard.core.locations import is_url
from pulseboard.database.connection import Connection
from pulseboard.database.ids import run_id
from pulseboard.database.push import rows
from pulseboard.database.push.descriptions import Descriptions
from pulseboard.database.push.landed import TABLES, has_landed
from pulseboard.database.push.ledger import Ledger, Plan
from pulseboard.database.push.logged import Logged, logged
from pulseboard.database.push.state import Behind, PartState, Replaced
from pulseboard.database.push.states import States
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs

BATCH_ROWS = 250_000
_BATCH_BYTES = 32 << 20
# Runs that are looked at together: their series may be copies.
_GROUP_RUNS, _GROUP_POINTS = 256, 4_000_000
# Another pusher gets this long to carry out its plan before this one does.
_PATIENCE_SECS = 2.0
# A log that was replaced is pushed again from its start. One that keeps changing waits longer each time.
_REPLACE_SECS, _MAX_REPLACE_SECS = 10.0, 3600.0
# Caches of shared file systems are this old at most.
_BEHIND_SECS = 15.0
# A batch is carried out without the runs that are not here, such as deleted ones, after this long.
_MISSING_SECS = 60.0


@dataclass(slots=True, eq=False)
class _Member:
    """One rank of a run with everything it has logged, at one moment."""

    run: Run
    state: PartState
    series: dict[int, Logged] = field(default_factory=dict)

    def covers(self, plan: Plan) -> bool:
        """Whether the log has the points of a plan."""
        return all(tag in self.series and len(self.series[tag]) >= end for tag, _, end in plan.ranges())

    def verify(self) -> None:
        """Raise Replaced or Behind unless the log begins with what was pushed."""
        for one in self.series.values():
            if (state := self.state.series.get(one.tag)) is not None:
                state.verify(one)
        if self.state.series.keys() - self.series.keys():
            raise Behind

    def advance(self, plan: Plan) -> None:
        """Take the points of a plan as pushed."""
        for tag, _, end in plan.ranges():
            self.state.of(self.series[tag]).advance(self.series[tag], end)


_Batch = list[tuple[Plan, _Member]]


class Pusher:
    """Pushes runs to a database. Call `push` again after the runs have grown, or after it raised DatabaseError."""

    def __init__(
        self,
        runs: Runs,
        connection: Connection,
        *,
        host: str,
        media: bool = False,
        progress: Callable[[int, int], None] | None = None,
        batch_rows: int = BATCH_ROWS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runs, self._host, self._media = runs, host, media
        self._ledger = Ledger(connection, pusher=host)
        self._connection = connection
        self._states = States(connection, self._ledger)
        self._descriptions = Descriptions(connection, host=host)
        self._progress, self._batch_rows, self._clock = progress, batch_rows, clock
        self._pending: _Batch = []  # a batch that may have been carried out in part
        self._waiting: dict[int, tuple[Plan, float]] = {}  # by part: plans that others carry out, and since when
        self._behind: dict[int, float] = {}  # by part: since when its log has fewer points than the database
        self._replacing: dict[int, tuple[float, float]] = {}  # by run: when it may be replaced again, and the pause
        self.points = 0
        """How many points this pusher has inserted."""

    @property
    def waiting(self) -> int:
        """The number of runs for which another pusher has a plan that is not done, or has read more of the log."""
        return len(self._waiting.keys() | self._behind.keys())

    def run_id(self, run: Run) -> int:
        """The id of a run in the database. A URL means the same on every host, a path does not."""
        location, which = run.identity
        return run_id(location if is_url(location) else f"{self._host}:{location}", which)

    def push(self, names: Iterable[str] | None = None) -> None:
        """Insert everything that is new in these runs, or in all of them. Raises DatabaseError."""
        if self._pending:
            self._carry_out(self._pending)
        found = [self._runs[name] for name in (list(self._runs) if names is None else names) if name in self._runs]
        found += [run for run in self._runs.values() if self._is_waiting(run) and run not in found]
        self._descriptions.share(self._runs)
        total, done = sum(run.points for run in found), 0
        for group in _groups(found):
            before, of_group = self.points, sum(run.points for run in group)
            for _ in self._push_group(group):
                self._show_progress(done + min(self.points - before, of_group), total)
            done += of_group
            self._show_progress(done, total)

    def describe(self) -> None:
        """Update what is stored of runs apart from points: a run that has ended says so in its run.json only."""
        self._descriptions.update_changed(self._runs, run_id=self.run_id, state_of=self._states.of)

    def _is_waiting(self, run: Run) -> bool:
        if not self._waiting and not self._behind:
            return False
        states = [self._states.of(self.run_id(run), rank) for rank in run.ranks]
        return any(state is not None and (state.id in self._waiting or state.id in self._behind) for state in states)

    # ---- one group of runs

    def _show_progress(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    def _push_group(self, runs: Sequence[Run]) -> Iterator[None]:
        """Push what is new in these runs; yields after each batch."""
        keys = {(self.run_id(run), rank): (run, rank) for run in runs for rank in run.ranks}
        self._wait_for(self._states.load(keys), since=-np.inf)
        members = [member for run in runs for member in self._members(run)]
        self._settle(members)
        while batch := self._next_batch(members):
            self._pending = batch
            self._carry_out(batch)
            yield
        self._show_replaced(members)
        self._descriptions.update(
            {self.run_id(member.run): member.run for member in members}, state_of=self._states.of, changed_only=True
        )

    def _members(self, run: Run) -> Iterator[_Member]:
        for rank, of_rank in run.ranks.items():
            state = self._states.of(self.run_id(run), rank)
            if state is None:
                self._wait_for(self._states.load([(self.run_id(run), rank)]), since=-np.inf)
                state = self._states.of(self.run_id(run), rank)
            assert state is not None
            member = _Member(run, state, {one.tag: one for one in logged(of_rank, media=self._media)})
            if self._verified(member):
                yield member

    def _verified(self, member: _Member) -> bool:
        """Whether the log begins with what was pushed. If it was replaced, it is pushed again, but not too often."""
        part, now = member.state.id, self._clock()
        try:
            member.verify()
        except Behind:
            # Another pusher may have read the log later. Only a log that stays behind was cut off.
            if now - self._behind.setdefault(part, now) < _BEHIND_SECS:
                return False
        except Replaced:
            pass
        else:
            self._behind.pop(part, None)
            return True
        next_at, pause = self._replacing.get(member.state.run, (-np.inf, _REPLACE_SECS))
        if now < next_at:
            return False
        self._replacing[member.state.run] = (now + pause, min(pause * 2, _MAX_REPLACE_SECS))
        self._behind.pop(part, None)
        self._waiting.pop(part, None)
        if member.state.shown is None:
            member.state.shown = member.state.generation
        self._states.replace(member.state)
        return True

    def _show_replaced(self, members: Iterable[_Member]) -> None:
        """Let readers see the parts that were pushed again, now that they are complete."""
        for member in members:
            state = member.state
            if state.shown is not None and state.id not in self._waiting:
                old = range(state.shown, state.generation)
                state.shown = None
                self._descriptions.update({state.run: member.run}, state_of=self._states.of)
                self._states.drop(state, old)

    # ---- batches

    def _next_batch(self, members: Iterable[_Member]) -> _Batch:
        """Plans for what is new, up to the size of a batch."""
        number = self._ledger.new_batch()
        rows_left, bytes_left = self._batch_rows, _BATCH_BYTES
        batch: _Batch = []
        for member in members:
            if member.state.id in self._waiting:
                continue
            ranges = []
            for one in member.series.values():
                state = member.state.of(one)
                if rows_left <= 0 or bytes_left <= 0 or not state.has_news(one):
                    continue
                n = min(len(one) - state.count, rows_left)
                if one.costs is not None and n:
                    sizes = np.cumsum(one.costs[state.count : state.count + n])
                    n = max(int(np.searchsorted(sizes, bytes_left, side="right")), 1)
                    bytes_left -= int(sizes[n - 1])
                rows_left -= max(n, 1)
                ranges.append((one.tag, state.count, state.count + n))
            if ranges:
                tags, starts, ends = zip(*ranges, strict=True)
                batch.append((Plan(member.state.id, member.state.number, number, tags, starts, ends), member))
            if rows_left <= 0 or bytes_left <= 0:
                break
        return batch

    def _carry_out(self, batch: _Batch) -> None:
        """Propose a batch and insert the plans of it that count. May be repeated after an error."""
        self._states.register(member.state for _, member in batch)
        self._ledger.propose([plan for plan, _ in batch])
        first = self._ledger.first_plans({plan.part: plan.number for plan, _ in batch})
        self._wait_for((one for one in first.values() if one.batch != batch[0][0].batch), since=self._clock())
        self._insert([(plan, member) for plan, member in batch if first[plan.part].batch == plan.batch])
        self._pending = []

    def _insert(self, batch: _Batch, *, again: bool = False) -> None:
        """Insert the rows of a batch, each once, and write down that it is done. May be repeated.

        `again`: another pusher may have carried out a part of the batch.
        """
        if not batch:
            return
        began = self._clock()
        pairs = [(plan, member.series) for plan, member in batch]
        token = f"{batch[0][0].batch:016x}"
        for table in TABLES:
            if columns := rows.ROWS[table](pairs):
                self._connection.insert(table, columns, token=token)
        if again or self._clock() - began > _MISSING_SECS / 2:
            self._insert_missing(batch)
        for plan, member in batch:
            member.advance(plan)
        self._connection.insert(
            "series", rows.series_rows([(plan, member.state, member.series) for plan, member in batch]), token=token
        )
        self._descriptions.update({member.state.run: member.run for _, member in batch}, state_of=self._states.of)
        self._ledger.finish([plan for plan, _ in batch])
        for plan, member in batch:
            member.state.number = plan.number + 1
            self._waiting.pop(plan.part, None)
            self.points += sum(end - start for tag, start, end in plan.ranges() if member.series[tag].scalar)

    def _insert_missing(self, batch: _Batch) -> None:
        """Insert the rows that are missing although the token of the batch was used: it was carried out partly."""
        for table in TABLES:
            for plan, member in batch:
                if not has_landed(self._connection, table, plan, member.series):
                    columns = rows.ROWS[table]([(plan, member.series)])
                    self._connection.insert(table, columns, token=f"{plan.batch:016x}-{plan.part:016x}")

    # ---- plans of others, and of a pusher that was killed

    def _wait_for(self, plans: Iterable[Plan], *, since: float) -> None:
        for plan in plans:
            self._waiting.setdefault(plan.part, (plan, since))

    def _settle(self, members: Sequence[_Member]) -> None:
        """Pick up plans that others have done, and carry out those that nobody has."""
        for member in members:
            plan, since = self._waiting.get(member.state.id, (None, 0.0))
            if plan is None:
                continue
            if self._ledger.is_done(plan):
                if member.covers(plan):
                    member.advance(plan)
                    member.state.number = plan.number + 1
                    del self._waiting[plan.part]
            elif (waited := self._clock() - since) >= _PATIENCE_SECS:
                if since == -np.inf:  # an earlier pusher's: the time counts from now
                    self._waiting[plan.part] = (plan, self._clock() - _PATIENCE_SECS)
                    waited = _PATIENCE_SECS
                self._carry_out_again(plan, partly=waited >= _MISSING_SECS)

    def _carry_out_again(self, plan: Plan, *, partly: bool) -> None:
        """Carry out a plan that is in the ledger, with all plans of its batch, if the logs here have their points.

        `partly`: without those whose logs are not here. The token of the batch is used up then, so who has these logs
        and carries it out later finds that their rows are missing.
        """
        batch = self._ledger.batch_of(plan)
        keys = self._states.keys_of(one.part for one in batch)
        # What was replaced in its log since is pushed again as another part.
        batch = [one for one in batch if one.part in keys]
        run_by_id = {self.run_id(run): run for run in self._runs.values()}
        members: dict[int, _Member] = {}
        for run in {keys[one.part][0]: None for one in batch if one.part in keys}:
            if run in run_by_id:
                members |= {member.state.id: member for member in self._members(run_by_id[run])}
        here = [(one, members[one.part]) for one in batch if one.part in members and members[one.part].covers(one)]
        if len(here) == len(batch) or (partly and any(one.part == plan.part for one, _ in here)):
            self._insert(here, again=True)


def _groups(runs: Sequence[Run]) -> Iterator[list[Run]]:
    group: list[Run] = []
    points = 0
    for run in runs:
        group.append(run)
        points += run.points
        if len(group) >= _GROUP_RUNS or points >= _GROUP_POINTS:
            yield group
            group, points = [], 0
    if group:
        yield group
