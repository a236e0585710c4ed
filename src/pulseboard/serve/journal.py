"""The journal: what changed since a revision. Streams read it, live and after a lost connection alike."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

# Names of runs that went; older ones are forgotten, and who asks from before then is told everything.
_MOST_REMOVED = 10_000
_MOST_FINDINGS = 10_000


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the stream. Without a revision it is passing news, which nobody catches up with."""

    name: str
    data: Mapping[str, Any]
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Loading:
    """How far the first reading is, in files."""

    done: int
    total: int


@dataclass(slots=True)
class _Run:
    added: int
    changed: int
    last_step: int | None


@dataclass(slots=True)
class Since:
    """What a reader is to be told, and the revision it then has."""

    revision: int
    events: list[Event] = field(default_factory=list)


class Journal:
    """Keeps, for each run, the revision of its last change: what is told does not grow with what happened.

    A reader that was away or is slow gets one merged event, however many changes there were. Safe between threads.
    """

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        # From the clock, so that a server that starts again goes on above what its readers have seen.
        self.base = int(now() * 1000)
        self.revision = self.base
        self._forgotten = self.base  # who has seen less than this may have missed removals
        self._runs: dict[str, _Run] = {}
        self._removed: dict[str, int] = {}
        self._marks: dict[str, int] = {}
        self._findings: dict[tuple[str, str], tuple[int, Mapping[str, Any]]] = {}
        self._lock = threading.Lock()
        self._wakes: set[Callable[[], None]] = set()

    # ---- writing

    def changed(
        self, *, added: Iterable[str] = (), removed: Iterable[str] = (), grown: Mapping[str, int | None] | None = None
    ) -> None:
        """Runs that came, went, or grew to a last step."""
        with self._lock:
            self.revision += 1
            for name in removed:
                self._runs.pop(name, None)
                self._removed[name] = self.revision
            for name in added:
                self._runs[name] = _Run(self.revision, self.revision, None)
                self._removed.pop(name, None)
            for name, step in (grown or {}).items():
                run = self._runs.setdefault(name, _Run(self.revision, self.revision, step))
                run.changed, run.last_step = self.revision, step
            while len(self._removed) > _MOST_REMOVED:
                oldest = next(iter(self._removed))
                self._forgotten = self._removed.pop(oldest)
        self.wake()

    def marked(self, runs: Iterable[str]) -> None:
        """Runs whose marks the user changed."""
        with self._lock:
            self.revision += 1
            self._marks |= dict.fromkeys(runs, self.revision)
        self.wake()

    def found(self, run: str, finding: Mapping[str, Any]) -> None:
        """A finding of a run, new or changed."""
        with self._lock:
            self.revision += 1
            self._findings.pop((run, finding["slug"]), None)
            self._findings[run, finding["slug"]] = (self.revision, {"run": run, **finding})
            while len(self._findings) > _MOST_FINDINGS:
                del self._findings[next(iter(self._findings))]
        self.wake()

    def diagnosed(self, run: str) -> None:
        """A run whose report is new: what depends on the run is to be asked for again."""
        with self._lock:
            if run in self._runs:
                self.revision += 1
                self._runs[run].changed = self.revision
        self.wake()

    def wake(self) -> None:
        """Have every reader look."""
        with self._lock:
            wakes = list(self._wakes)
        for wake in wakes:
            wake()

    # ---- reading

    def revision_of(self, run: str) -> int:
        """The revision of a run's last change; 0 for one that is not there."""
        known = self._runs.get(run)
        return known.changed if known else 0

    def since(self, revision: int) -> Since:
        """What has changed after a revision. One that this journal never gave: everything is new."""
        with self._lock:
            known = self._forgotten <= revision <= self.revision
            after = revision if known else 0
            if after == self.revision:
                return Since(self.revision)
            added = [name for name, run in self._runs.items() if run.added > after]
            removed = [name for name, at in self._removed.items() if at > after]
            grown = {name: run.last_step for name, run in self._runs.items() if run.added <= after < run.changed}
            marks = [name for name, at in self._marks.items() if at > after]
            events = []
            if added or removed or grown or not known:
                data = {"revision": self.revision, "added": added, "removed": removed, "grown": grown}
                events.append(Event("changed", data, self.revision))
            events += [Event("finding", data, at) for at, data in self._findings.values() if at > after]
            if marks:
                events.append(Event("marks", {"runs": marks}, self.revision))
            return Since(self.revision, events)

    def on_wake(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake`, from any thread, when there is something new; the answer ends that."""
        with self._lock:
            self._wakes.add(wake)

        def end() -> None:
            with self._lock:
                self._wakes.discard(wake)

        return end
