"""Charts over a database: those of a log directory, with what they need read in few queries."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pulseboard.charts.local import EXPRESSION_PREFIX, LocalCharts
from pulseboard.charts.query import GroupQuery, Query
from pulseboard.charts.results import RunSummary, RunTable, TagSummary
from pulseboard.database.stored.long_series import LongSeries
from pulseboard.database.stored.run import StoredRun
from pulseboard.database.stored.runs import StoredRuns
from pulseboard.database.stored.series_rows import SeriesRow

if TYPE_CHECKING:
    from pulseboard.charts.results import GroupStatistics, Window
    from pulseboard.charts.windows import Span
    from pulseboard.read.axis.info import AxisInfo

LONG_POINTS = 200_000
"""Longer series are drawn from rollups: reading them takes longer than a chart may. So are pruned ones."""

_MAX_LONG = 10_000
# A window has about 60 bytes per pixel column.
_MAX_WINDOWS = 1000


class StoredCharts(LocalCharts):
    """Charts over the runs of a database. Its runs have the same series, so its windows are the same."""

    runs: StoredRuns

    def __init__(self, runs: StoredRuns) -> None:
        super().__init__(runs)
        self._long_by_id: dict[tuple[int, int], LongSeries] = {}
        self._windows: dict[object, Window] = {}
        self._windows_lock = threading.Lock()

    def run_summaries(self) -> list[RunSummary]:
        """Every run, most recently active first."""
        self.runs.load_rows(self.runs.values())
        return super().run_summaries()

    def tag_summaries(self, runs: Iterable[str] | None = None, kind: str | None = None) -> list[TagSummary]:
        """The tags of these runs (None: all), sorted by name."""
        names = None if runs is None else list(runs)
        self.runs.load_rows(self.runs.values() if names is None else self._stored(names))
        return super().tag_summaries(names, kind)

    def window(self, query: Query) -> list[Window]:
        """What a chart draws: one window for each tag and each run that has it.

        Long series come from rollups, unless a chart needs every point: smoothed, or computed from others.
        """
        from pulseboard.charts import windows

        runs = list(dict.fromkeys(query.runs))
        unknown = [name for name in runs if name not in self.runs]
        long = {} if unknown else self._long(runs, query)
        if not long:
            self._fetch(runs, [*query.tags, query.x_tag], rank=query.rank)
            return super().window(query)
        out: list[Window] = []
        for tag in dict.fromkeys(query.tags):
            short = [name for name in runs if (name, tag) not in long]
            self._fetch(short, [tag], rank=query.rank)
            spans = {name: long[name, tag].span(query) for name in runs if (name, tag) in long}
            own = [*spans.values(), *self.spans(replace(query, runs=short, tags=[tag]))]
            span = windows.common_span(own, query)
            of_short = replace(query, runs=short, tags=[tag])
            if span.bounds:
                of_short = replace(of_short, start=span.low, end=span.high)
            drawn = {one.run: one for one in super().window(of_short)}
            for name, extent in spans.items():
                run = self.runs[name].ranks[query.rank]
                drawn[self.runs[name].name] = self._long_window(
                    long[name, tag], query, run=self.runs[name].name, axis=run.axis_of(tag), span=span, own=extent
                )
            out += [drawn[self.runs[name].name] for name in runs if self.runs[name].name in drawn]
        return out

    def _long_series(self, part: int, row: SeriesRow) -> LongSeries:
        """One object for all charts of a series, until the series grows."""
        found = self._long_by_id.get((part, row.tag))
        if found is None or found.row is not row:
            if len(self._long_by_id) >= _MAX_LONG:
                self._long_by_id.clear()
            found = self._long_by_id[part, row.tag] = LongSeries(self.runs.connection, part, row)
        return found

    def _long_window(
        self, series: LongSeries, query: Query, *, run: str, axis: AxisInfo, span: Span, own: Span
    ) -> Window:
        """The window of a long series: made once for everyone who looks at the same range of it."""
        key = (series.part, series.row, run, query.x, query.buckets, query.neighbors, query.orphans, span)
        with self._windows_lock:
            if (found := self._windows.pop(key, None)) is not None:
                self._windows[key] = found  # at the end: the least recently used goes first
                return found
        found = series.window(query, run=run, axis=axis, span=span, own=own)
        with self._windows_lock:
            self._windows[key] = found
            while len(self._windows) > _MAX_WINDOWS:
                del self._windows[next(iter(self._windows))]
        return found

    def _long(self, names: Iterable[str], query: Query) -> dict[tuple[str, str], LongSeries]:
        """The series of a query that are drawn from rollups, by run and tag."""
        if query.smoothing or query.x_tag or query.log_x:
            return {}
        found: dict[tuple[str, str], LongSeries] = {}
        names = list(names)
        self.runs.load_rows(run for name in names if (run := self.runs[name].ranks.get(query.rank)) is not None)
        for name in names:
            run = self.runs[name].ranks.get(query.rank)
            if not isinstance(run, StoredRun) or self._fork_of(self.runs[name]):
                continue
            for tag in query.tags:
                row = run.row(tag)
                if row is None or run.part is None or (query.orphans and row.orphans):
                    continue
                if row.points <= LONG_POINTS and not row.pruned:
                    continue
                if row.step_rising if query.x == "step" else row.wall_rising:
                    found[name, tag] = self._long_series(run.part, row)
        return found

    def groups(self, query: GroupQuery) -> list[GroupStatistics]:
        """Statistics over groups of runs."""
        self._fetch(query.runs, [*query.tags, query.x_tag], rank=query.rank)
        return super().groups(query)

    def table(
        self, runs: Sequence[str] | None = None, metrics: Sequence[str] = (), *, better: dict[str, str] | None = None
    ) -> RunTable:
        """Hyperparameters, config, and last, min, max and best of metrics."""
        self._fetch(list(self.runs) if runs is None else runs, metrics)
        return super().table(runs, metrics, better=better)

    def _stored(self, names: Iterable[str]) -> list[StoredRun]:
        found = (self.runs[name] for name in names if name in self.runs)
        return [run for run in found if isinstance(run, StoredRun)]

    def _fetch(self, names: Iterable[str], tags: Iterable[str], *, rank: int = 0) -> None:
        """Read the series that a query needs and that are not in memory, with one query for all of them."""
        runs = [of_rank for run in self._stored(names) if (of_rank := run.ranks.get(rank)) is not None]
        self.runs.load_rows(runs)
        wanted = []
        for tag in self._logged_tags(tags):
            for run in runs:
                row = run.row(tag)
                if row is not None and run.part is not None and not row.pruned and not run.holds(tag):
                    wanted.append((run.part, row.tag, row.points))
        self.runs.point_cache.fetch(wanted)

    def _logged_tags(self, tags: Iterable[str]) -> list[str]:
        from pulseboard.charts.derived.expression import parse

        out: dict[str, None] = {}
        for tag in tags:
            if tag.startswith(EXPRESSION_PREFIX):
                leaves = parse(tag.removeprefix(EXPRESSION_PREFIX)).leaves
                out |= {leaf.tag: None for leaf in leaves if leaf.run is None}
            elif tag:
                out[tag] = None
        return list(out)
