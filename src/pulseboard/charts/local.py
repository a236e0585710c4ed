"""Charts over log directories: series stay in memory between queries and are updated as runs grow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pulseboard.charts.index import Index
from pulseboard.charts.interface import Charts
from pulseboard.charts.kept_curves import FORK, KeptCurves
from pulseboard.charts.lists.forks import KnownFork, find_parent
from pulseboard.charts.lists.kept_settings import KeptSettings
from pulseboard.charts.lists.modules import has_modules
from pulseboard.charts.lists.run_files import RunFiles
from pulseboard.charts.lists.settings import Settings
from pulseboard.charts.lists.tag_sets import TagSet, TagSets
from pulseboard.charts.query import GroupQuery, Query
from pulseboard.charts.results import RunSummary, RunTable, TagSummary
from pulseboard.charts.thread_pool import ThreadPool
from pulseboard.core.cancellation import checkpoint
from pulseboard.core.changes import Changes
from pulseboard.core.errors import RunNotFound
from pulseboard.read.event_files.run import EventFileRun
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs
from pulseboard.tbformat import kinds

if TYPE_CHECKING:
    # These load numpy, which the first list of runs does not need.
    from pulseboard.charts.curve import Curve
    from pulseboard.charts.derived.heatmap import Heatmap
    from pulseboard.charts.lists.tables import Extremes
    from pulseboard.charts.results import GroupStatistics, Window, XAxisMetric
    from pulseboard.charts.windows import Span

_MAX_CURVES_BYTES = 512 << 20

# The file watcher takes a while to load, and the first chart comes first.
_FOLLOW_AFTER_SECS = 0.5


EXPRESSION_PREFIX = "="
"""Before an expression over tags where a query names a tag: `=val/loss - train/loss`."""

# Files may name each other in a circle.
_MAX_FORKS = 20


class LocalCharts(Charts):
    """Charts over the runs that `pb.read` returns."""

    def __init__(self, runs: Runs, *, index: Index | None = None, max_curves_bytes: int = _MAX_CURVES_BYTES) -> None:
        """`index` keeps what was read of settings; that of event files is the cache of `runs`."""
        self.runs = runs
        self._tag_sets = TagSets()
        self._run_files = RunFiles()
        self._settings = Settings(self._run_files, self._tag_sets)
        self._kept_settings = KeptSettings(index, runs, self._run_files, self._settings) if index else None
        self._threads = ThreadPool()
        self._kept = KeptCurves(max_bytes=max_curves_bytes)
        self._lock = threading.Lock()
        self._modules: dict[str, bool] = {}  # run -> whether it has modules; missing if it must be checked
        self._updates = 0

    # ---- new data

    def refresh(self, *, progress: Callable[[int, int], None] | None = None) -> Changes:
        """Look everywhere for new runs and new bytes."""
        if self._kept_settings is not None:
            self._kept_settings.restore()
        return self._apply(self.runs.refresh(progress=progress))

    def poll(self) -> Changes:
        """Look only where the file system's modification times have changed."""
        return self._apply(self.runs.poll())

    def follow(
        self, *, every_secs: float, stop: threading.Event, on_change: Callable[[Changes], None]
    ) -> threading.Thread:
        """Start a thread that picks up new data until `stop` is set, and calls `on_change` with what changed."""

        def work() -> None:
            stop.wait(_FOLLOW_AFTER_SECS)
            for found in self.runs.follow(every_secs=every_secs, stop=stop):
                if changes := self._apply(found):
                    on_change(changes)

        thread = threading.Thread(target=work, name="pulseboard-follow", daemon=True)
        thread.start()
        return thread

    def _apply(self, changes: Changes) -> Changes:
        removed = set(changes.removed)
        with self._lock:
            self._updates += 1
            for name in changes.grown:
                if not self._modules.get(name):
                    self._modules.pop(name, None)
            for name in removed:
                self._modules.pop(name, None)
        self._kept.drop(removed)
        for name in (*changes.grown, *removed):
            self._run_files.forget(name, removed=name in removed)
        for name in removed:
            self._settings.forget(name)
        return changes

    # ---- lists

    def last_step(self, run: str) -> int | None:
        """The step of the run's last event with data; None if it has none or the run is gone."""
        found = self._find(run)
        return None if found is None else last_step_of(found)

    def run_summaries(self) -> list[RunSummary]:
        """Every run, most recently active first."""
        now = time.time()
        found = [self._summary(run, now) for name in list(self.runs) if (run := self._find(name)) is not None]
        if self._kept_settings is not None:
            self._kept_settings.update()
        return found

    def _summary(self, run: Run, now: float) -> RunSummary:
        tags = self._tag_sets.of(run)
        state = self._run_files.state(run, now)
        return RunSummary(
            name=run.name,
            aliases=run.aliases,
            directory=run.location,
            started=run.started,
            ended=run.ended,
            last_step=last_step_of(run),
            points=run.points,
            tags=len(tags.tags),
            kinds=tags.kinds,
            ranks=tuple(sorted(run.ranks)),
            restarts=len(run.restarts()),
            live=state == "running",
            state=state,
            has_modules=self._has_modules(run),
            axis=run.axis,
            fork=self._fork_of(run),
            has_artifacts=self._run_files.has_artifacts(run),
        )

    def _fork_of(self, run: Run) -> KnownFork | None:
        fork = self._run_files.fork(run)
        return None if fork is None else find_parent(run.name, fork, list(self.runs))

    def _has_modules(self, run: Run) -> bool:
        """Checked once, and again after the run has grown: thousands of file system calls are slow."""
        found = self._modules.get(run.name)
        if found is None:
            updates = self._updates
            found = has_modules(run)
            with self._lock:
                if found or updates == self._updates:  # otherwise the run may have grown after the check
                    self._modules[run.name] = found
        return found

    def tag_summaries(self, runs: Iterable[str] | None = None, kind: str | None = None) -> list[TagSummary]:
        """The tags of these runs (None: all), sorted by name; only tags of one kind if `kind` is given."""
        names_by_tags: dict[TagSet, list[str]] = {}
        for name in list(self.runs) if runs is None else runs:
            run = self._find(name) if runs is None else self.runs[name]
            if run is not None:
                names_by_tags.setdefault(self._tag_sets.of(run), []).append(run.name)
        found: dict[str, tuple[dict[str, None], list[str]]] = {}
        for tags, names in names_by_tags.items():
            for tag, of_tag in tags.tags.items():
                if kind is None or kind in of_tag:
                    all_kinds, all_names = found.setdefault(tag, ({}, []))
                    all_kinds.update(dict.fromkeys(of_tag))
                    all_names += names
        return [TagSummary(tag, tuple(of_tag), tuple(names)) for tag, (of_tag, names) in sorted(found.items())]

    def _find(self, name: str) -> Run | None:
        try:
            return self.runs[name]
        except RunNotFound:  # removed in the meantime
            return None

    # ---- charts

    def x_axis_metrics(self, runs: Sequence[str]) -> list[XAxisMetric]:
        """The metrics of the first few of these runs that can be the x axis, those that rise first."""
        from pulseboard.charts.x_axes import x_axis_metrics

        return x_axis_metrics([run for name in runs if (run := self._find(name)) is not None])

    def x_of_steps(self, run: str, tag: str, steps: Sequence[float], *, x: str) -> list[float | None]:
        """Where steps of a tag are on another axis; None for all if the run lacks the tag, or the metric of x."""
        from pulseboard.charts.derived.positions import x_of_steps

        query = Query(runs=[run], tags=[tag], x=x)
        found = self.runs[run]
        curve, metric = self._curve(found, 0, tag), self._curve(found, 0, query.x_tag or tag)
        if curve is None or metric is None:
            return [None] * len(steps)
        return x_of_steps(curve, metric, steps, query)

    def window(self, query: Query) -> list[Window]:
        """What a chart draws: one window for each tag and each run that has it, in the query's order."""
        from pulseboard.charts import windows

        def prepare(run: Run, tag: str) -> tuple[Run, Curve, Span] | None:
            curve = self._curve_for(run, tag, query)
            if curve is None:
                return None
            with curve.lock:
                return run, curve, windows.span_of(curve, query)

        def draw(prepared: tuple[Run, Curve, Span], span: Span) -> Window:
            run, curve, own = prepared
            axis = run.ranks[query.rank].axis_of(_logged_tag(curve))
            with curve.lock:
                return windows.window(curve, query, run=run.name, axis=axis, span=span, own=own)

        out: list[Window] = []
        runs = [self.runs[name] for name in dict.fromkeys(query.runs)]
        for tag in dict.fromkeys(query.tags):
            curves = [found for found in self._threads.map(partial(prepare, tag=tag), runs) if found]
            span = windows.common_span([own for _, _, own in curves], query)
            out += self._threads.map(partial(draw, span=span), curves)
        self._kept.free_memory()
        return out

    def spans(self, query: Query) -> list[Span]:
        """The range of x in which each curve of a query has points."""
        from pulseboard.charts import windows

        out = []
        for tag in dict.fromkeys(query.tags):
            for name in dict.fromkeys(query.runs):
                if curve := self._curve_for(self.runs[name], tag, query):
                    with curve.lock:
                        out.append(windows.span_of(curve, query))
        return out

    def heatmap(self, run: str, family: str, *, start: float | None, end: float | None, columns: int) -> Heatmap:
        """The values of a family of tags of a run between two steps."""
        from pulseboard.charts.derived.heatmap import family_members, heatmap

        found = self.runs[run]
        scalars = (tag for tag, of_tag in self._tag_sets.of(found).tags.items() if kinds.SCALAR in of_tag)
        return heatmap(family_members(family, scalars), found.series, start=start, end=end, columns=columns)

    def groups(self, query: GroupQuery) -> list[GroupStatistics]:
        """Statistics over groups of runs: one result for each tag and group."""
        from pulseboard.charts import groups, windows

        runs_by_name = {run.name: run for run in map(self.runs.__getitem__, query.runs)}
        members = groups.members(query, runs_by_name, settings=self._settings)
        out = []
        for tag in dict.fromkeys(query.tags):
            curves: dict[str, list[groups.Member]] = {}
            for label, runs in members.items():
                for run in runs:
                    checkpoint()
                    if curve := self._curve_for(run, tag, query):
                        with curve.lock:
                            span = windows.span_of(curve, query)
                        curves.setdefault(label, []).append(groups.Member(run.name, curve, span))
            spans = [member.span for group in curves.values() for member in group]
            out += groups.statistics(tag, curves, query, span=windows.common_span(spans, query))
        self._kept.free_memory()
        return out

    def table(
        self, runs: Sequence[str] | None = None, metrics: Sequence[str] = (), *, better: dict[str, str] | None = None
    ) -> RunTable:
        """Hyperparameters, config, and last, min, max and best of metrics. `better`: tag -> min or max."""
        from pulseboard.charts.lists import tables

        run_table = tables.table(
            [self.runs[name] for name in (list(self.runs) if runs is None else runs)],
            metrics,
            extremes_of=self._extremes,
            settings=self._settings,
            better=better or {},
        )
        self._kept.free_memory()
        if self._kept_settings is not None:
            self._kept_settings.update()
        return run_table

    def _extremes(self, run: Run, tag: str) -> Extremes | None:
        """A metric of a table; None if the run lacks it."""
        if (found := self._summary_of_file(run, tag)) is not None:
            return found
        curve = self._curve(run, 0, tag)
        if curve is None:
            return None
        with curve.lock:
            return *curve.live.last(), *curve.live.extremes()

    def _summary_of_file(self, run: Run, tag: str) -> Extremes | None:
        """The same of a short series in a single file, as most are: a curve takes fifty times as long."""
        main, tag = run.source_of(tag)
        if not isinstance(main, EventFileRun) or len(main.files) != 1 or self._fork_of(run) is not None:
            return None
        return main.files[0].log.summary(tag)

    # ---- curves in memory

    def _curve_for(self, run: Run, tag: str, query: Query) -> Curve | None:
        """The run's curve of this tag over the query's x; None if the run lacks the tag, or the metric of x."""
        curve = self._curve(run, query.rank, tag)
        if curve is None or not query.x_tag:
            return curve
        metric = self._curve(run, query.rank, query.x_tag)
        if metric is None:
            return None
        from pulseboard.charts.derived.curve_by_metric import CurveByMetric

        key = (run.name, query.rank, tag, query.x_tag)
        found = self._kept.get(key, lambda: CurveByMetric(tag))
        assert isinstance(found, CurveByMetric)
        with found.lock:
            found.update_from(curve, metric)
            self._kept.note_size(key, found)
        return found

    def _curve(self, run: Run, rank: int, tag: str, *, forks: int = 0) -> Curve | None:
        """The run's curve of this tag, up to date; None if it has none. `forks` is how many led here."""
        from pulseboard.charts.curve import Curve

        if tag.startswith(EXPRESSION_PREFIX):
            return self._computed(run, rank, tag)
        run_of_rank = run.ranks.get(rank)
        if run_of_rank is None or kinds.SCALAR not in self._tag_sets.of(run_of_rank).tags.get(tag, ()):
            return None
        key = (run.name, rank, tag, "")
        curve = self._kept.get(key, lambda: Curve(tag))
        with curve.lock:
            version = curve.version
            curve.update(run_of_rank)
            if curve.version != version:
                self._kept.note_size(key, curve)
        return self._with_parent(run, rank, curve, forks)

    def _with_parent(self, run: Run, rank: int, own: Curve, forks: int) -> Curve:
        """The curve of a fork begins with its parent's, up to the step of the fork."""
        fork = self._fork_of(run) if forks < _MAX_FORKS else None
        parent = None if fork is None else self._find(fork.parent)
        inherited = None if parent is None else self._curve(parent, rank, own.tag, forks=forks + 1)
        if fork is None or inherited is None:
            return own
        from pulseboard.charts.derived.forked_curve import ForkedCurve

        key = (run.name, rank, own.tag, FORK)
        found = self._kept.get(key, lambda: ForkedCurve(own.tag))
        assert isinstance(found, ForkedCurve)
        with found.lock:
            found.update_from(inherited, own, step=fork.step)
            self._kept.note_size(key, found)
        return found

    def _computed(self, run: Run, rank: int, tag: str) -> Curve | None:
        """The curve of an expression; None if the run lacks one of its tags."""
        from pulseboard.charts.derived.curve_of_expression import CurveOfExpression
        from pulseboard.charts.derived.expression import parse

        key = (run.name, rank, tag, "")
        found = self._kept.get(key, lambda: CurveOfExpression(tag, parse(tag.removeprefix(EXPRESSION_PREFIX))))
        assert isinstance(found, CurveOfExpression)
        curves = {}
        for leaf in found.expression.leaves:
            source = run if leaf.run is None else self._find(leaf.run)
            curve = None if source is None else self._curve(source, rank, leaf.tag)
            if curve is None:
                return None
            curves[leaf] = curve
        with found.lock:
            found.update_from(curves)
            self._kept.note_size(key, found)
        return found


def _logged_tag(curve: Curve) -> str:
    """A tag that the run logged: the curve's own, or the first one of its expression."""
    from pulseboard.charts.derived.curve_of_expression import CurveOfExpression

    return curve.expression.leaves[0].tag if isinstance(curve, CurveOfExpression) else curve.tag


def last_step_of(run: Run) -> int | None:
    """The step of the last event with data, by wall time, over the run's files; for other formats the greatest step."""
    run = run.main
    if not isinstance(run, EventFileRun):
        return run.last_step
    last = max((file.log for file in run.files if file.log.tag_count), key=lambda log: log.last_wall, default=None)
    return None if last is None else last.last_step
