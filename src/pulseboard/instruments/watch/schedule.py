"""The schedule: which measurement runs at which step, so that all of them together stay within a budget."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pulseboard.record.messages import warn_once

# Costs and step times are averages over about this many measurements.
_AVERAGED_RUNS = 20
# The first runs load code and fill caches; their cost is not typical.
_WARM_UP_RUNS = 2


@dataclass(slots=True)
class _Entry:
    every: int  # the cadence without a budget
    stretched: int  # the cadence that the budget allows
    early_every: int | None = None  # the cadence of the first steps, if shorter
    unfinished_secs: float = 0.0  # spent on a run that is not over yet
    cost_secs: float = 0.0
    runs: int = 0
    last_step: int | None = None
    failed: bool = False


class Schedule:
    """Decides by step number, measures what each measurement costs, and stretches cadences to fit the budget.

    `budget` is a share of the time between steps: 0.01 is one percent. None never stretches: ranks that take part in
    collective measurements need this, because all of them must measure at the same steps. During the first
    `early_steps`, measurements with an early cadence use it, as far as the budget allows.
    """

    def __init__(
        self, *, budget: float | None, early_steps: int = 0, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.budget = budget
        self.early_steps = early_steps
        self._clock = clock
        self._entries: dict[str, _Entry] = {}
        self._step_secs = 0.0
        self._timed_steps = 0  # all steps but the first
        self._steps_done = 0
        self._last_step_at: float | None = None
        self._spent_since_step_secs = 0.0
        self._spent_secs = 0.0  # since the last call of `overhead`
        self._passed_secs = 0.0

    def add(self, id: str, *, every: int, early_every: int | None = None) -> None:
        """Add a measurement with its cadence in steps, and that of the first steps; 0: never."""
        entry = self._entries[id] = _Entry(every, every, early_every)
        entry.stretched = self._cadence(entry)

    def __contains__(self, id: str) -> bool:
        return id in self._entries

    def due(self, id: str, step: int) -> bool:
        """Whether the measurement should run at this step."""
        entry = self._entries[id]
        if entry.every <= 0 or entry.failed:
            return False
        if self.budget is None:
            return step % self._cadence(entry) == 0
        # By distance from the last run, not by divisibility: a stretched cadence must not skip two in a row.
        return entry.last_step is None or step < entry.last_step or step - entry.last_step >= entry.stretched

    @contextlib.contextmanager
    def running(self, id: str, step: int, *, done: bool = True) -> Iterator[None]:
        """Time a measurement. If it raises, it is never run again, and the error goes no further.

        A measurement in several pieces passes `done=False` for all but the last: it stays due, and the pieces count
        as one run.
        """
        entry = self._entries[id]
        if done:
            entry.last_step = step
        started_at = self._clock()
        try:
            yield
        except Exception as error:
            entry.failed = True
            cause = f"{type(error).__name__}: {error}"
            warn_once(
                f"instrument {id}", f"The instrument {id} stopped at step {step}: {cause}. Training goes on without it."
            )
        finally:
            spent_secs = self._clock() - started_at
            self._spent_since_step_secs += spent_secs
            entry.unfinished_secs += spent_secs
            if done:
                self._add_cost(entry)

    def _add_cost(self, entry: _Entry) -> None:
        spent_secs, entry.unfinished_secs = entry.unfinished_secs, 0.0
        entry.runs += 1
        if entry.runs > _WARM_UP_RUNS:
            weight = max(1 / _AVERAGED_RUNS, 1 / (entry.runs - _WARM_UP_RUNS))
            entry.cost_secs += weight * (spent_secs - entry.cost_secs)

    def _cadence(self, entry: _Entry) -> int:
        """The cadence without a budget."""
        early = entry.early_every is not None and self._steps_done < self.early_steps
        return min(entry.every, entry.early_every) if early and entry.early_every else entry.every

    def step_ended(self) -> None:
        """A training step is over."""
        now = self._clock()
        self._steps_done += 1
        if self._last_step_at is not None:
            passed_secs = now - self._last_step_at
            self._spent_secs += self._spent_since_step_secs
            self._passed_secs += passed_secs
            self._timed_steps += 1
            weight = max(1 / _AVERAGED_RUNS, 1 / self._timed_steps)
            self._step_secs += weight * (max(0.0, passed_secs - self._spent_since_step_secs) - self._step_secs)
            if self.budget is not None:
                self._stretch()
        self._spent_since_step_secs = 0.0
        self._last_step_at = now

    def overhead(self) -> float:
        """The measured share of time that all measurements took since the last call."""
        share = self._spent_secs / self._passed_secs if self._passed_secs else 0.0
        self._spent_secs = self._passed_secs = 0.0
        return share

    def every(self, id: str) -> int:
        """The cadence in force."""
        return self._entries[id].stretched

    def _stretch(self) -> None:
        """Lengthen the cadences of the most expensive measurements until the cost per step fits the budget."""
        assert self.budget is not None
        room_secs = self.budget * self._step_secs
        active = [entry for entry in self._entries.values() if entry.every > 0 and not entry.failed]
        cadences = {id(entry): self._cadence(entry) for entry in active}
        active.sort(key=lambda entry: entry.cost_secs / cadences[id(entry)])
        # The cheapest keep their cadence; each of the others gets an equal share of what is left.
        for i, entry in enumerate(active):
            every = cadences[id(entry)]
            per_step_secs, fair_secs = entry.cost_secs / every, room_secs / (len(active) - i)
            if per_step_secs <= fair_secs or fair_secs <= 0:
                entry.stretched = every
                room_secs -= per_step_secs
            else:
                entry.stretched = math.ceil(entry.cost_secs / fair_secs)
                room_secs -= entry.cost_secs / entry.stretched


def parse_overhead(overhead: str | float | None) -> float | None:
    """An overhead as a share: '1%' and 0.01 are the same; None sets no limit."""
    if overhead is None:
        return None
    if isinstance(overhead, str):
        text = overhead.strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            raise ValueError(f"overhead must be a share such as '1%' or 0.01, not {overhead!r}.") from None
    else:
        share = float(overhead)
    if not 0 < share <= 1:
        raise ValueError(f"overhead must be a share above 0 and up to 1 ('1%' or 0.01), not {overhead!r}.")
    return share
