"""What the server needs from a chart backend. `local.py` implements it over log directories."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pulseboard.charts.derived.heatmap import Heatmap
    from pulseboard.charts.query import GroupQuery, Query
    from pulseboard.charts.results import GroupStatistics, RunSummary, RunTable, TagSummary, Window, XAxisMetric
    from pulseboard.core.changes import Changes


class Charts(ABC):
    """Queries over runs. Any thread may query while one refreshes. Unknown run names raise RunNotFound."""

    @abstractmethod
    def refresh(self, *, progress: Callable[[int, int], None] | None = None) -> Changes:
        """Look everywhere for new runs and new data. `progress(done, total)` is called while data loads."""

    @abstractmethod
    def follow(
        self, *, every_secs: float, stop: threading.Event, on_change: Callable[[Changes], None]
    ) -> threading.Thread:
        """Start a thread that picks up new data until `stop` is set, and calls `on_change` with what changed."""

    @abstractmethod
    def last_step(self, run: str) -> int | None:
        """The step of the run's last event with data; None if it has none or the run is gone."""

    @abstractmethod
    def run_summaries(self) -> list[RunSummary]:
        """Every run, most recently active first."""

    @abstractmethod
    def tag_summaries(self, runs: Iterable[str] | None = None, kind: str | None = None) -> list[TagSummary]:
        """The tags of these runs (None: all), sorted by name; only tags of one kind if `kind` is given."""

    @abstractmethod
    def x_axis_metrics(self, runs: Sequence[str]) -> list[XAxisMetric]:
        """The metrics of the first few of these runs that can be the x axis, those that rise first."""

    @abstractmethod
    def x_of_steps(self, run: str, tag: str, steps: Sequence[float], *, x: str) -> list[float | None]:
        """Where steps of a tag are on another axis; None for all if the run lacks the tag, or the metric of x.

        A step between two points is interpolated. A step before the first or after the last point is where that is.
        """

    @abstractmethod
    def window(self, query: Query) -> list[Window]:
        """What a chart draws: one window for each tag and each run that has it, in the query's order."""

    @abstractmethod
    def heatmap(self, run: str, family: str, *, start: float | None, end: float | None, columns: int) -> Heatmap:
        """The values of a family of tags, such as `gradient_norm/layer_{i}`, between two steps.

        Raises BadQuery if the family has no placeholder.
        """

    @abstractmethod
    def groups(self, query: GroupQuery) -> list[GroupStatistics]:
        """Statistics over groups of runs: one result for each tag and group."""

    @abstractmethod
    def table(
        self, runs: Sequence[str] | None = None, metrics: Sequence[str] = (), *, better: dict[str, str] | None = None
    ) -> RunTable:
        """Hyperparameters, config, and last, min, max and best of metrics.

        runs    None: all runs
        better  whether the "min" or the "max" of a tag is its best value; guessed from its name if absent
        """
