"""What chart queries return: windows, group statistics, summaries and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pulseboard.read.axis.info import AxisInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pulseboard.charts.lists.forks import KnownFork
    from pulseboard.charts.lists.run_files import RunState


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """One tag of one run, ready to draw.

    If exact, the columns are `x` and `y`: every point of the range, sorted by x (points with the same x in the order
    they were logged). Otherwise there is one row per pixel column that has points: `x` of its first point; `first`,
    `min`, `max` and `last` of its finite values (NaN if it has none); `count` of all its points, and how many of them
    are `nan`, `plus_inf` and `minus_inf`.

    With smoothing there is also `smooth`: at each point, or at the last finite point of each pixel column.
    With orphans there is also `orphan`: 1 for rows of orphaned points, which come after all others.
    With neighbors, the first and last row may be a point outside the range; such points count in no total.
    Numbers are float64; counts and `orphan` are uint32.
    """

    run: str
    tag: str
    points: int  # in the range, including orphaned ones if they were requested
    exact: bool
    nan: int
    inf: int
    smoothed: bool
    columns: dict[str, NDArray[Any]]
    axis: AxisInfo  # what the steps of the tag count
    extent: tuple[float, float] | None  # the first and last x of all its points, in the range or not


@dataclass(frozen=True, slots=True, eq=False)
class GroupStatistics:
    """Statistics of one tag over one group of runs.

    Columns: `x`; `count`, the number of runs with data there (uint32); `mean`, `median`, `min`, `max`, `sd`, `se`; and
    the 95% confidence interval of the mean, `low` to `high`. Statistics that need two runs are NaN where only one has
    data. `smoothed` has the same columns over the runs' smoothed values; it is None without smoothing.
    """

    group: str
    tag: str
    runs: tuple[str, ...]
    columns: dict[str, NDArray[Any]]
    smoothed: dict[str, NDArray[Any]] | None
    extent: tuple[float, float] | None  # the first and last x of all points, in the range or not


@dataclass(frozen=True, slots=True)
class XAxisMetric:
    """A metric that can be the x axis of a chart."""

    tag: str
    rises: bool  # it never falls, and ends higher than it begins


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in a list of runs."""

    name: str
    aliases: tuple[str, ...]
    directory: str
    started: float  # wall time; NaN if no event was read
    ended: float  # wall time; NaN if no event was read
    last_step: int | None  # of the last event with data; None if there is none
    points: int
    tags: int
    kinds: tuple[str, ...]
    ranks: tuple[int, ...]
    restarts: int
    live: bool  # it is running
    state: RunState | None  # None if nothing is known except that nothing was written for a while
    has_modules: bool  # it recorded the modules of a model
    axis: AxisInfo  # what its steps count
    fork: KnownFork | None  # the run that it was forked from
    has_artifacts: bool = False  # it kept files


@dataclass(frozen=True, slots=True)
class TagSummary:
    """One tag, over all requested runs."""

    tag: str
    kinds: tuple[str, ...]
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScalarSummary:
    """A scalar tag of one run in a few numbers, without orphaned points. NaN if it has no finite value."""

    last: float
    last_step: int
    min: float
    min_step: int
    max: float
    max_step: int
    best: float  # min or max, whichever is better for this tag
    best_step: int
    better: Literal["min", "max"]


@dataclass(frozen=True, slots=True)
class TableRow:
    """One run of a table."""

    run: str
    hparams: Mapping[str, float | str | bool | None]
    config: Mapping[str, Any]  # flattened: nested names are joined with dots
    metrics: dict[str, ScalarSummary]


@dataclass(frozen=True, slots=True)
class RunTable:
    """Runs with their hyperparameters, config and metrics. Columns are those that any row has, in order."""

    hparams: tuple[str, ...]
    config: tuple[str, ...]
    metrics: tuple[str, ...]
    rows: tuple[TableRow, ...]
