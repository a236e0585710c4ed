"""The schedule: which measurement runs at which step, so that all of them together stay within a budget."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pulseboard.record.messages import warn_once

# Costs and step times are averages over about this many measurements.
_AVERAGED_RUNS = 20
# The first runs load code and fill caches; their cost is not typical.
_WARM_UP_RUNS = 2
# Cadences are computed again when a cost changes by this share, and otherwise now and then: it takes longer than all
# else that a step without measurements does.
_CHANGED_FRAC = 0.1
_STRETCH_EVERY = 10


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

    `budget` is a share of the time between steps: 0.01 is one percent. The time that hooks take besides measuring
    counts too, but a quarter of the budget is always left to measurements. None never stretches: ranks that take part
    in collective measurements need this, because all of them must measure at the same steps. During the first
    `early_steps`, measurements with an early cadence use it, as far as the budget allows. Time in which other programs
    had the processor does not count, neither as cost nor as part of a step: `waited` returns it.
    """

    def __init__(
        self,
        *,
        budget: float | None,
        early_steps: int = 0,
        clock: Callable[[], float] = time.perf_counter,
        waited: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.budget = budget
        self.early_steps = early_steps
        self._clock = clock
        self._waited = waited
        self._entries: dict[str, _Entry] = {}
        self._step_secs = 0.0
        self._timed_steps = 0  # all steps but the first
        self._steps_done = 0
        self._costs_changed = True
        self._idle: range | None = None  # steps at which nothing is due; None if that must be computed
        self._last_step_at: float | None = None  # by the clock less `waited`
        self._measured_secs = self._measured_before_step_secs = 0.0  # since the start, and until the last step ended
        self._measured_on_clock_secs = 0.0  # since the start, with the time waited
        self._hooks_since_step_secs = 0.0  # besides measuring
        self._hooks_secs = 0.0  # the average per step
        self._spent_secs = 0.0  # since the last call of `overhead`
        self._passed_secs = 0.0

    def add(self, id: str, *, every: int, early_every: int | None = None) -> None:
        """Add a measurement with its cadence in steps, and that of the first steps; 0: never."""
        entry = self._entries[id] = _Entry(every, every, early_every)
        entry.stretched = self._cadence(entry)
        self._costs_changed, self._idle = True, None

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

    def idle(self, step: int) -> bool:
        """Whether nothing is due at this step. Most steps are idle, and this is quicker than a `due` for each."""
        if self.budget is None:
            return False
        if self._idle is None:
            active = [entry for entry in self._entries.values() if entry.every > 0 and not entry.failed]
            ran = [entry.last_step for entry in active if entry.last_step is not None]
            if len(ran) == len(active):
                self._idle = range(
                    max(ran, default=0), min(((e.last_step or 0) + e.stretched for e in active), default=0)
                )
            else:
                self._idle = range(0)
        return step in self._idle

    @contextlib.contextmanager
    def running(self, id: str, step: int, *, done: bool = True) -> Iterator[None]:
        """Time a measurement. If it raises, it is never run again, and the error goes no further.

        A measurement in several pieces passes `done=False` for all but the last: it stays due, and the pieces count
        as one run.
        """
        entry = self._entries[id]
        if done:
            entry.last_step, self._idle = step, None
        started_at, waited_secs = self._clock(), self._waited()
        try:
            yield
        except Exception as error:
            entry.failed, self._idle = True, None
            cause = f"{type(error).__name__}: {error}"
            warn_once(
                f"instrument {id}",
                f"The instrument {id} stopped at step {step}: {cause}. Training continues without it.",
            )
        finally:
            on_clock_secs = self._clock() - started_at
            spent_secs = max(0.0, on_clock_secs - (self._waited() - waited_secs))
            self._measured_on_clock_secs += on_clock_secs
            self._measured_secs += spent_secs
            entry.unfinished_secs += spent_secs
            if done:
                self._add_cost(entry)

    def timed(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        """The hook, its time counted: all of it that is not spent on measurements."""
        clock = self._clock

        def timed_hook(*args: Any) -> Any:
            measured_secs, began_at = self._measured_on_clock_secs, clock()
            try:
                return hook(*args)
            finally:
                self._hooks_since_step_secs += clock() - began_at - (self._measured_on_clock_secs - measured_secs)

        return timed_hook

    def _add_cost(self, entry: _Entry) -> None:
        spent_secs, entry.unfinished_secs = entry.unfinished_secs, 0.0
        entry.runs += 1
        if entry.runs > _WARM_UP_RUNS:
            weight = max(1 / _AVERAGED_RUNS, 1 / (entry.runs - _WARM_UP_RUNS))
            before_secs = entry.cost_secs
            entry.cost_secs += weight * (spent_secs - entry.cost_secs)
            self._costs_changed |= abs(entry.cost_secs - before_secs) > _CHANGED_FRAC * before_secs

    def _cadence(self, entry: _Entry) -> int:
        """The cadence without a budget."""
        early = entry.early_every is not None and self._steps_done < self.early_steps
        return min(entry.every, entry.early_every) if early and entry.early_every else entry.every

    def step_ended(self) -> None:
        """A training step is over."""
        now = self._clock() - self._waited()
        self._steps_done += 1
        if self._last_step_at is not None:
            passed_secs = now - self._last_step_at
            spent_secs = self._measured_secs - self._measured_before_step_secs + self._hooks_since_step_secs
            self._spent_secs += spent_secs
            self._passed_secs += passed_secs
            self._timed_steps += 1
            weight = max(1 / _AVERAGED_RUNS, 1 / self._timed_steps)
            self._step_secs += weight * (max(0.0, passed_secs - spent_secs) - self._step_secs)
            self._hooks_secs += weight * (self._hooks_since_step_secs - self._hooks_secs)
            early = self._steps_done <= self.early_steps + 1
            if self.budget is not None and (self._costs_changed or early or self._steps_done % _STRETCH_EVERY == 0):
                self._stretch()
        self._measured_before_step_secs = self._measured_secs
        self._hooks_since_step_secs = 0.0
        self._last_step_at = now

    def overhead(self) -> float:
        """The measured share of time that all measurements and hooks took since the last call."""
        share = self._spent_secs / self._passed_secs if self._passed_secs else 0.0
        self._spent_secs = self._passed_secs = 0.0
        return share

    def every(self, id: str) -> int:
        """The cadence in force."""
        return self._entries[id].stretched

    def _stretch(self) -> None:
        """Lengthen the cadences of the most expensive measurements until the cost per step fits the budget."""
        assert self.budget is not None
        self._costs_changed, self._idle = False, None
        budget_secs = self.budget * self._step_secs
        room_secs = max(budget_secs - self._hooks_secs, budget_secs / 4)
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
