"""The schedule: which instrument runs at which step, so that all of them together stay within a budget."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pulseboard.record.report import say_once

# Costs and step times are averages over about this many measurements.
_MEMORY = 20
# The first runs load code and fill caches; what they cost says nothing about the rest.
_WARM_UP_RUNS = 2


@dataclass(slots=True)
class _Entry:
    every: int  # as documented
    stretched: int  # as the budget allows
    early_every: int | None = None  # at first, if that is more often
    unfinished_secs: float = 0.0  # spent on a run that is not over
    cost_secs: float = 0.0
    runs: int = 0
    last_step: int | None = None
    failed: bool = False


class Schedule:
    """Decides by step number, measures what each instrument costs, and stretches cadences to the budget.

    `budget` is a share of the time between steps: 0.01 for one per cent; None never stretches, which ranks
    need that take part in collective measurements and must all take them at the same step. Over the first
    `early_steps`, instruments that have an early cadence run at that one, as far as the budget allows.
    """

    def __init__(
        self, *, budget: float | None, early_steps: int = 0, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.budget = budget
        self.early_steps = early_steps
        self._clock = clock
        self._entries: dict[str, _Entry] = {}
        self._step_secs = 0.0
        self._steps = 0  # of which the time is known: all but the first
        self._over = 0
        self._stepped_at: float | None = None
        self._spent_since_step = 0.0
        self._spent_secs = 0.0  # since the last `overhead`
        self._passed_secs = 0.0

    def add(self, id: str, *, every: int, early_every: int | None = None) -> None:
        """An instrument that runs every so many steps, and at first `early_every`; 0: never."""
        entry = self._entries[id] = _Entry(every, every, early_every)
        entry.stretched = self._wanted(entry)

    def knows(self, id: str) -> bool:
        """Whether the instrument was added."""
        return id in self._entries

    def due(self, id: str, step: int) -> bool:
        """Whether the instrument shall run at this step."""
        entry = self._entries[id]
        if entry.every <= 0 or entry.failed:
            return False
        if self.budget is None:
            return step % self._wanted(entry) == 0
        # By the distance from the last run, not by divisibility: a stretched cadence must not skip two in a row.
        return entry.last_step is None or step < entry.last_step or step - entry.last_step >= entry.stretched

    @contextlib.contextmanager
    def running(self, id: str, step: int, *, done: bool = True) -> Iterator[None]:
        """Run an instrument: what it costs is counted, and what it raises ends it and nothing else.

        A run in several pieces has `done=False` for all but the last: it stays due, and they count as one.
        """
        entry = self._entries[id]
        if done:
            entry.last_step = step
        began = self._clock()
        try:
            yield
        except Exception as error:
            entry.failed = True
            what = f"{type(error).__name__}: {error}"
            say_once(
                f"instrument {id}", f"The instrument {id} stopped at step {step}: {what}. Training goes on without it."
            )
        finally:
            spent = self._clock() - began
            self._spent_since_step += spent
            entry.unfinished_secs += spent
            if done:
                self._count(entry)

    def _count(self, entry: _Entry) -> None:
        spent, entry.unfinished_secs = entry.unfinished_secs, 0.0
        entry.runs += 1
        if entry.runs > _WARM_UP_RUNS:
            weight = max(1 / _MEMORY, 1 / (entry.runs - _WARM_UP_RUNS))
            entry.cost_secs += weight * (spent - entry.cost_secs)

    def _wanted(self, entry: _Entry) -> int:
        """The cadence without a budget."""
        early = entry.early_every is not None and self._over < self.early_steps
        return min(entry.every, entry.early_every) if early and entry.early_every else entry.every

    def stepped(self) -> None:
        """A training step is over."""
        now = self._clock()
        self._over += 1
        if self._stepped_at is not None:
            passed = now - self._stepped_at
            self._spent_secs += self._spent_since_step
            self._passed_secs += passed
            self._steps += 1
            weight = max(1 / _MEMORY, 1 / self._steps)
            self._step_secs += weight * (max(0.0, passed - self._spent_since_step) - self._step_secs)
            if self.budget is not None:
                self._stretch()
        self._spent_since_step = 0.0
        self._stepped_at = now

    def overhead(self) -> float:
        """The share of the time since the last call that the instruments took, measured."""
        share = self._spent_secs / self._passed_secs if self._passed_secs else 0.0
        self._spent_secs = self._passed_secs = 0.0
        return share

    def every(self, id: str) -> int:
        """The cadence in force."""
        return self._entries[id].stretched

    def _stretch(self) -> None:
        """Lengthen the cadences of what costs most, until what all of them cost a step fits the budget."""
        assert self.budget is not None
        room = self.budget * self._step_secs
        live = [entry for entry in self._entries.values() if entry.every > 0 and not entry.failed]
        wanted = {id(entry): self._wanted(entry) for entry in live}
        live.sort(key=lambda entry: entry.cost_secs / wanted[id(entry)])
        # The cheapest keep their cadence; each of the rest gets an equal share of what they leave.
        for i, entry in enumerate(live):
            every = wanted[id(entry)]
            share, fair = entry.cost_secs / every, room / (len(live) - i)
            if share <= fair or fair <= 0:
                entry.stretched = every
                room -= share
            else:
                entry.stretched = math.ceil(entry.cost_secs / fair)
                room -= entry.cost_secs / entry.stretched


def parse_overhead(overhead: str | float | None) -> float | None:
    """'1%' and 0.01 are the same; None sets no limit."""
    if overhead is None:
        return None
    if isinstance(overhead, str):
        text = overhead.strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            raise ValueError(f"overhead is a share such as '1%' or 0.01, not {overhead!r}.") from None
    else:
        share = float(overhead)
    if not 0 < share <= 1:
        raise ValueError(f"overhead is a share above 0 and up to 1 ('1%' or 0.01), not {overhead!r}.")
    return share
