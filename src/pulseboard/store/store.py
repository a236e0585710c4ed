"""The store: a log's runs and series, asked for by name, kept up to date, and cheap to ask again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pulseboard.core.errors import RunNotFound
from pulseboard.files import kinds
from pulseboard.read.log import Changes as Found
from pulseboard.read.log import Log
from pulseboard.read.run import Run
from pulseboard.store.catalogue import Catalogue, Shape
from pulseboard.store.modules import has_modules
from pulseboard.store.pattern import Pattern
from pulseboard.store.query import Changes, GroupQuery, Query, RunSummary, RunTable, TagSummary
from pulseboard.store.threads import Threads

if TYPE_CHECKING:
    # The columns need numpy: not before the first chart is asked for.
    from pulseboard.store.charts import Span
    from pulseboard.store.curve import Curve
    from pulseboard.store.query import Group, Window

# A run that wrote within this time is taken to be alive: slow trainings log every few minutes.
_LIVE_SECS = 300.0

_MOST_CURVES_BYTES = 512 << 20


# What watches files takes a while to load: the first chart comes first.
_FOLLOW_AFTER_SECS = 0.5


class Store:
    """Answers for charts and tables over a log. Any thread may ask while one refreshes."""

    def __init__(self, log: Log, *, curves_bytes: int = _MOST_CURVES_BYTES) -> None:
        self.log = log
        self._catalogue = Catalogue()
        self._threads = Threads()
        self._curves_bytes = curves_bytes
        self._curves: dict[tuple[str, int, str], Curve] = {}
        self._sizes: dict[tuple[str, int, str], int] = {}
        self._held_bytes = 0
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        # Revisions go on from the clock, so that one from a store before this one is told from ours.
        self._first_revision = self._revision = time.time_ns() // 1_000_000
        self._added: dict[str, int] = dict.fromkeys(log, self._revision)  # run -> the revision that brought it
        self._grown: dict[str, int] = dict(self._added)  # run -> the revision that changed it last
        self._removed: dict[str, int] = {}
        self._modules: dict[str, tuple[bool, int]] = {}  # run -> whether it tells of a model, and since which revision

    # ---- keeping up

    @property
    def revision(self) -> int:
        """Grows by one with every change."""
        return self._revision

    def refresh(self, *, progress: Callable[[int, int], None] | None = None) -> Changes:
        """Look everywhere for new runs and new bytes."""
        return self._take_up(self.log.refresh(progress=progress))

    def poll(self) -> Changes:
        """Look where the file system's times say that something has changed."""
        return self._take_up(self.log.poll())

    def follow(
        self,
        *,
        every_secs: float = 5.0,
        stop: threading.Event | None = None,
        on_change: Callable[[Changes], None] | None = None,
    ) -> threading.Thread:
        """Start a thread that takes up what is new as it comes, until `stop` is set. `on_change` is called in it."""
        end = stop or threading.Event()

        def work() -> None:
            end.wait(_FOLLOW_AFTER_SECS)
            for found in self.log.follow(every_secs=every_secs, stop=end):
                changes = self._take_up(found)
                if changes and on_change is not None:
                    on_change(changes)

        thread = threading.Thread(target=work, name="pulseboard-follow", daemon=True)
        thread.start()
        return thread

    def wait(self, *, since: int, timeout_secs: float) -> Changes:
        """What has changed since a revision, as soon as something has, or nothing after `timeout_secs`."""
        with self._changed:
            self._changed.wait_for(lambda: self._revision != since, timeout_secs)
        return self.changes(since=since)

    def _take_up(self, found: Found) -> Changes:
        if not found:
            return Changes(self._revision)
        with self._changed:
            self._revision += 1
            at = self._revision
            for name in found.added:
                self._removed.pop(name, None)
                self._added[name] = self._grown[name] = at
            for name in found.grown:
                self._grown[name] = at
            for name in found.removed:
                self._added.pop(name, None)
                self._grown.pop(name, None)
                self._modules.pop(name, None)
                self._removed[name] = at
            gone = set(found.removed)
            for key in [key for key in self._curves if key[0] in gone]:
                self._forget(key)
            self._changed.notify_all()
        return self.changes(since=at - 1)

    def changes(self, *, since: int) -> Changes:
        """What has changed since a revision that this store told; everything, where it told no such revision."""
        with self._lock:
            at = self._revision
            complete = not self._first_revision <= since <= at
            if complete:
                return Changes(at, added=tuple(self._added), complete=True)
            added = tuple(name for name, came in self._added.items() if came > since)
            removed = tuple(name for name, went in self._removed.items() if went > since)
            names = [name for name, changed in self._grown.items() if changed > since and self._added[name] <= since]
        return Changes(at, added, removed, {name: _last_step(run) for name in names if (run := self._find(name))})

    # ---- what is there

    def runs(self, pattern: str | None = None) -> list[RunSummary]:
        """The runs whose name or alias has a match of a regular expression; the most recently active first."""
        matches = Pattern(pattern) if pattern else None
        now = time.time()
        out = []
        for name in list(self.log):
            run = self._find(name)
            if run is not None and (matches is None or any(map(matches.found_in, (name, *run.aliases)))):
                out.append(self._summary(run, now))
        return out

    def run(self, name: str) -> Run:
        """The run of this name or alias. Raises RunNotFound."""
        return self.log[name]

    def summary(self, name: str) -> RunSummary:
        """One run in one line. Raises RunNotFound."""
        return self._summary(self.log[name], time.time())

    def run_revision(self, name: str) -> int:
        """The store's revision when this run changed last."""
        return self._grown.get(self.log[name].name, self._first_revision)

    def _summary(self, run: Run, now: float) -> RunSummary:
        shape = self._catalogue.shape_of(run)
        return RunSummary(
            name=run.name,
            aliases=run.aliases,
            directory=run.directory,
            started=run.started,
            ended=run.ended,
            last_step=_last_step(run),
            points=run.points,
            tags=len(shape.tags),
            kinds=shape.kinds,
            ranks=tuple(sorted(run.ranks)),
            restarts=len(run.restarts()),
            live=now - _last_written(run) < _LIVE_SECS,
            has_modules=self._has_modules(run),
            revision=self._grown.get(run.name, self._first_revision),
        )

    def _has_modules(self, run: Run) -> bool:
        """Looked for again when the run has grown: thousands of looks at a file system take their time."""
        revision = self._grown.get(run.name, self._first_revision)
        found, at = self._modules.get(run.name, (False, -1))
        if not found and at != revision:
            found = has_modules(run)
            self._modules[run.name] = (found, revision)
        return found

    def tags(self, runs: Iterable[str] | None = None, kind: str | None = None) -> list[TagSummary]:
        """The tags of these runs (None: of all), in order of name."""
        alike: dict[Shape, list[str]] = {}  # runs that have the same tags
        for name in list(self.log) if runs is None else runs:
            run = self._find(name) if runs is None else self.log[name]
            if run is not None:
                alike.setdefault(self._catalogue.shape_of(run), []).append(run.name)
        found: dict[str, tuple[dict[str, None], list[str]]] = {}
        for shape, names_alike in alike.items():
            for tag, of_tag in shape.tags.items():
                if kind is None or kind in of_tag:
                    seen, names = found.setdefault(tag, ({}, []))
                    seen.update(dict.fromkeys(of_tag))
                    names += names_alike
        return [TagSummary(tag, tuple(seen), tuple(names)) for tag, (seen, names) in sorted(found.items())]

    def _find(self, name: str) -> Run | None:
        try:
            return self.log[name]
        except RunNotFound:  # it went meanwhile
            return None

    # ---- charts

    def window(self, query: Query) -> list[Window]:
        """What a chart draws: a window for each tag and run that has it, in the query's order."""
        from pulseboard.store import charts

        def prepare(run: Run, tag: str) -> tuple[str, Curve, Span] | None:
            curve = self._curve(run, query.rank, tag)
            if curve is None:
                return None
            with curve.lock:
                return run.name, curve, charts.span_of(curve, query)

        def draw(shown: tuple[str, Curve, Span], span: Span) -> Window:
            name, curve, _ = shown
            with curve.lock:
                return charts.window(curve, query, run=name, span=span)

        out: list[Window] = []
        runs = [self.log[name] for name in dict.fromkeys(query.runs)]
        for tag in dict.fromkeys(query.tags):
            prepared = [shown for shown in self._threads.map(partial(prepare, tag=tag), runs) if shown]
            span = charts.common_span([own for _, _, own in prepared], query)
            out += self._threads.map(partial(draw, span=span), prepared)
        self._make_room()
        return out

    def groups(self, query: GroupQuery) -> list[Group]:
        """Statistics over groups of runs: one answer for each tag and group."""
        from pulseboard.store import charts, groups

        found_runs = {run.name: run for run in map(self.log.__getitem__, query.runs)}
        members = groups.members(query, found_runs, shape_of=self._catalogue.shape_of)
        out = []
        for tag in dict.fromkeys(query.tags):
            found: dict[str, list[tuple[str, Curve]]] = {}
            spans = []
            for label, runs in members.items():
                for run in runs:
                    if curve := self._curve(run, query.rank, tag):
                        found.setdefault(label, []).append((run.name, curve))
                        with curve.lock:
                            spans.append(charts.span_of(curve, query))
            out += groups.statistics(tag, found, query, span=charts.common_span(spans, query))
        self._make_room()
        return out

    def table(
        self, runs: Sequence[str] | None = None, metrics: Sequence[str] = (), *, better: dict[str, str] | None = None
    ) -> RunTable:
        """Hyperparameters, configuration, and last, min, max and best of metrics. `better`: tag -> min or max."""
        from pulseboard.store import tables

        chosen = [self.log[name] for name in (list(self.log) if runs is None else runs)]
        found = tables.table(
            chosen,
            metrics,
            curve_of=lambda run, tag: self._curve(run, 0, tag),
            shape_of=self._catalogue.shape_of,
            better=better or {},
        )
        self._make_room()
        return found

    def _curve(self, run: Run, rank: int, tag: str) -> Curve | None:
        """The run's curve of this tag, up to date; None where it has none."""
        from pulseboard.store.curve import Curve

        at = run.ranks.get(rank)
        if at is None or kinds.SCALAR not in self._catalogue.shape_of(at).tags.get(tag, ()):
            return None
        key = (run.name, rank, tag)
        with self._lock:
            curve = self._curves.pop(key, None) or Curve(tag)
            self._curves[key] = curve  # at the end: the least recently asked for goes first
        with curve.lock:
            curve.update(at)
            size = curve.held_bytes
        with self._lock:
            self._held_bytes += size - self._sizes.get(key, 0)
            self._sizes[key] = size
        return curve

    def _make_room(self) -> None:
        with self._lock:
            while self._held_bytes > self._curves_bytes and len(self._curves) > 1:
                self._forget(next(iter(self._curves)))

    def _forget(self, key: tuple[str, int, str]) -> None:
        self._curves.pop(key, None)
        self._held_bytes -= self._sizes.pop(key, 0)


def _last_step(run: Run) -> int | None:
    """The step of the last event with data, by wall time, over the run's files."""
    last = max((file.log for file in run.files if file.log.tag_count), key=lambda log: log.last_wall, default=None)
    return None if last is None else last.last_step


def _last_written(run: Run) -> float:
    """When the files were last written, by the file system's clock: wall times in logs may be anything."""
    files = [file for rank in run.ranks.values() for file in rank.files]
    return max((file.seen.mtime_ns / 1e9 for file in files if file.seen), default=0.0)
