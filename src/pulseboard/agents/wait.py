"""Waiting until something happens to runs: a condition is met, every training has ended, or time is up."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pulseboard.agents.conditions import Condition
from pulseboard.agents.subjects import state_of, subject_of, trainings_of
from pulseboard.core.finding import RunReport
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs

Result = Literal["met", "ended", "timeout"]

EXIT_CODES: dict[Result, int] = {"met": 0, "ended": 1, "timeout": 124}
"""124 is what `timeout` of coreutils returns."""

IDLE_SECS = 300.0
"""A log without run.json that has not grown for this long counts as ended."""

# Runs end without writing anything, so states are checked this often although nothing changes.
_CHECK_SECS = 2.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How waiting ended."""

    result: Result
    text: str  # what happened, in one line
    until: str  # the condition that was met; empty if none was
    run: str
    waited_secs: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema": 1,
            "result": self.result,
            "until": self.until,
            "run": self.run,
            "text": self.text,
            "waited_secs": self.waited_secs,
        }


class _Watched:
    """A run, with its diagnosis on demand."""

    def __init__(self, run: Run, runs: Runs, idle_secs: float) -> None:
        self.run, self._runs, self._idle_secs = run, runs, idle_secs

    @functools.cached_property
    def report(self) -> RunReport:
        return subject_of(next(trainings_of(self._runs, [self.run.name]))).report

    @property
    def state(self) -> str:
        return state_of(self.run, idle_secs=self._idle_secs, now=time.time())


def wait_until(
    runs: Runs,
    conditions: Sequence[Condition],
    *,
    chosen: Callable[[Runs], Sequence[str]],
    timeout_secs: float | None = None,
    idle_secs: float = IDLE_SECS,
) -> Outcome:
    """Wait until a condition holds for one of the chosen runs; `end` is met when all of them have ended.

    If they all end before any other condition is met, waiting is over too.
    """
    began = time.monotonic()
    deadline = None if timeout_secs is None else began + timeout_secs
    stop = threading.Event()
    changes = _Changes(runs, stop)
    watched: dict[str, _Watched] = {}
    stale: set[str] | None = None  # None: all of them
    try:
        while True:
            names = chosen(runs)
            for name in names:
                if stale is None or name in stale or name not in watched:
                    watched[name] = _Watched(runs[name], runs, idle_secs)
            if outcome := _outcome([watched[name] for name in names], conditions, began):
                return outcome
            left = _CHECK_SECS if deadline is None else min(_CHECK_SECS, deadline - time.monotonic())
            if left <= 0:
                return Outcome("timeout", _so_far(runs, names), "", "", time.monotonic() - began)
            stale = changes.take(left)
    finally:
        stop.set()


class _Changes:
    """The names of runs that changed, collected by a thread that follows them."""

    def __init__(self, runs: Runs, stop: threading.Event) -> None:
        self._condition = threading.Condition()
        self._names: set[str] = set()
        self._failure: BaseException | None = None
        thread = threading.Thread(target=self._follow, args=(runs, stop), name="pulseboard-wait", daemon=True)
        thread.start()

    def take(self, timeout_secs: float) -> set[str]:
        """What changed since the last call, after waiting for something to. Raises what stopped the thread."""
        with self._condition:
            self._condition.wait_for(lambda: self._names or self._failure, timeout_secs)
            if self._failure is not None:
                raise self._failure
            found, self._names = self._names, set()
            return found

    def _follow(self, runs: Runs, stop: threading.Event) -> None:
        try:
            for changes in runs.follow(every_secs=_CHECK_SECS, stop=stop):
                with self._condition:
                    self._names |= {*changes.added, *changes.grown}
                    self._condition.notify()
        except BaseException as error:
            with self._condition:
                self._failure = error
                self._condition.notify()


def _outcome(watched: Sequence[_Watched], conditions: Sequence[Condition], began: float) -> Outcome | None:
    waited = time.monotonic() - began
    for condition in conditions:
        texts = {one.run.name: condition.met(one) for one in watched if not condition.is_end}
        for name, text in texts.items():
            if text:
                return Outcome("met", text, condition.text, name, waited)
    if not watched or any(one.state == "running" for one in watched):
        return None
    last = watched[0]
    for condition in conditions:
        if condition.is_end:
            return Outcome("met", condition.met(last), condition.text, last.run.name, waited)
    return Outcome("ended", f"{last.state} at step {last.run.last_step}", "", last.run.name, waited)


def _so_far(runs: Runs, names: Sequence[str]) -> str:
    if not names:
        return "no runs yet"
    return ", ".join(f"{name} at step {runs[name].last_step}" for name in list(names)[:5])
