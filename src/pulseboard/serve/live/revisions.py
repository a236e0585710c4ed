"""Revisions: what changed since a client last looked. Live streams and clients that reconnect read the same record."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# Names of removed runs that are remembered. A client that missed more gets everything again.
_MAX_REMOVED = 10_000
_MAX_FINDINGS = 10_000


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of the stream. An event without a revision is not repeated for clients that reconnect."""

    name: str
    data: Mapping[str, Any]
    revision: int | None = None


@dataclass(slots=True)
class _RunRevisions:
    added: int
    changed: int
    last_step: int | None
    place: int  # in the order in which runs were added


@dataclass(slots=True)
class Update:
    """The events a client has missed, and the revision it has after them."""

    revision: int
    events: list[StreamEvent] = field(default_factory=list)
    encoded: bytes | None = None  # see stream.py


def _latest(entries: dict[K, V], is_new: Callable[[V], bool]) -> list[tuple[K, V]]:
    """The new entries, which are the last ones of a dictionary, in their order. Costs as much as there are new ones."""
    out = list(takewhile(lambda entry: is_new(entry[1]), reversed(entries.items())))
    return out[::-1]


class Revisions:
    """Keeps the revision of each run's last change, so its size does not grow with the number of changes.

    A client that was away or is slow gets one merged event, however many changes there were. Thread-safe.
    """

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        # Starts at the clock, so that a restarted server continues above what its clients have seen.
        self.current = int(now() * 1000)
        self._added = 0  # how many runs were added so far
        self._oldest = self.current  # a client with an older revision may have missed removals
        self._runs: dict[str, _RunRevisions] = {}
        self._removed: dict[str, int] = {}
        self._marks: dict[str, int] = {}
        self._reports: dict[str, int] = {}
        self._findings: dict[tuple[str, str], tuple[int, Mapping[str, Any]]] = {}
        # All of these are in the order of their revisions, so that the latest changes are found from the end.
        self._last_update: tuple[int, int, Update] | None = None  # most streams request the same one
        self._lock = threading.Lock()
        self._subscribers: set[Callable[[], None]] = set()

    # ---- writing

    def record_changes(
        self, *, added: Iterable[str] = (), removed: Iterable[str] = (), grown: Mapping[str, int | None] | None = None
    ) -> None:
        """Runs were added, removed, or have grown to a last step."""
        with self._lock:
            self.current += 1
            for name in removed:
                self._runs.pop(name, None)
                self._reports.pop(name, None)
                self._removed.pop(name, None)
                self._removed[name] = self.current
            for name in added:
                self._runs.pop(name, None)
                self._runs[name] = self._new_run(None)
                self._removed.pop(name, None)
            for name, step in (grown or {}).items():
                run = self._runs.pop(name, None) or self._new_run(step)
                run.changed, run.last_step = self.current, step
                self._runs[name] = run
            while len(self._removed) > _MAX_REMOVED:
                self._oldest = self._removed.pop(next(iter(self._removed)))
        self.notify()

    def _new_run(self, last_step: int | None) -> _RunRevisions:
        self._added += 1
        return _RunRevisions(self.current, self.current, last_step, self._added)

    def record_marks(self, runs: Iterable[str]) -> None:
        """The user changed the marks of these runs."""
        with self._lock:
            self.current += 1
            for name in runs:
                self._marks.pop(name, None)
                self._marks[name] = self.current
        self.notify()

    def record_finding(self, run: str, finding: Mapping[str, Any]) -> None:
        """A run has a new or changed finding."""
        with self._lock:
            self.current += 1
            self._findings.pop((run, finding["slug"]), None)
            self._findings[run, finding["slug"]] = (self.current, {"run": run, **finding})
            while len(self._findings) > _MAX_FINDINGS:
                del self._findings[next(iter(self._findings))]
        self.notify()

    def record_report(self, run: str) -> None:
        """A run has a new report. Its points are the same, so charts of it stay valid."""
        with self._lock:
            if run in self._runs:
                self.current += 1
                self._reports.pop(run, None)
                self._reports[run] = self.current
        self.notify()

    def notify(self) -> None:
        """Call every subscriber."""
        with self._lock:
            subscribers = list(self._subscribers)
        for subscriber in subscribers:
            subscriber()

    # ---- reading

    def of(self, run: str) -> int:
        """The revision of a run's last change; 0 for an unknown run."""
        known = self._runs.get(run)
        return known.changed if known else 0

    def since(self, revision: int) -> Update:
        """What has changed after a revision. For a revision that this server never issued, everything is new."""
        with self._lock:
            known = self._oldest <= revision <= self.current
            after = revision if known else 0
            if after == self.current:
                return Update(self.current)
            last = self._last_update
            if last is not None and known and last[:2] == (after, self.current):
                return last[2]
            changed = _latest(self._runs, lambda run: run.changed > after)
            new = [(run.place, name) for name, run in changed if run.added > after]
            added = [name for _, name in sorted(new)]
            removed = [name for name, _ in _latest(self._removed, lambda at: at > after)]
            grown = {name: run.last_step for name, run in changed if run.added <= after}
            marks = [name for name, _ in _latest(self._marks, lambda at: at > after)]
            reports = [name for name, _ in _latest(self._reports, lambda at: at > after)]
            events = []
            if added or removed or grown or not known:
                data = {"revision": self.current, "added": added, "removed": removed, "grown": grown}
                events.append(StreamEvent("changed", data, self.current))
            findings = _latest(self._findings, lambda finding: finding[0] > after)
            events += [StreamEvent("finding", data, at) for _, (at, data) in findings]
            if reports:
                events.append(StreamEvent("reports", {"runs": reports}, self.current))
            if marks:
                events.append(StreamEvent("marks", {"runs": marks}, self.current))
            update = Update(self.current, events)
            if known:
                self._last_update = (after, self.current, update)
            return update

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback`, from any thread, when something is new. Returns a function that ends the subscription."""
        with self._lock:
            self._subscribers.add(callback)

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers.discard(callback)

        return unsubscribe
