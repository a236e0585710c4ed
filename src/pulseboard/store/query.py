"""The questions a store answers, and the shapes of its answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

Axis = Literal["step", "relative", "wall"]
AXES: tuple[Axis, ...] = ("step", "relative", "wall")

SmoothingKind = Literal["debiased", "time-weighted", "gaussian", "running-mean"]
SMOOTHINGS: tuple[SmoothingKind, ...] = ("debiased", "time-weighted", "gaussian", "running-mean")

MOST_BUCKETS = 20_000
"""No screen is wider; a greater number is a mistake, and would cost memory."""

MOST_WIDTH = 10_000
"""The widest kernel of `gaussian` (its sigma) and `running-mean` (its window), in points."""

Statistic = Literal["mean", "median"]


class BadQuery(ValueError):
    """A question that has no answer; the message says what to ask instead."""


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How a curve is smoothed. What `weight` means depends on the kind.

    debiased       the weight of TensorBoard's slider, 0 to 1 (1 not included)
    time-weighted  the weight of W&B's slider: the past fades with the distance in x instead of with each point
    gaussian       the standard deviation, in points
    running-mean   the width of the window, in points
    """

    kind: SmoothingKind
    weight: float

    def __post_init__(self) -> None:
        if self.kind not in SMOOTHINGS:
            raise BadQuery(f"There is no smoothing {self.kind!r}. Use one of: {', '.join(SMOOTHINGS)}.")
        most, inclusive = (1.0, False) if self.kind in ("debiased", "time-weighted") else (float(MOST_WIDTH), True)
        fits = 0 <= self.weight <= most and (inclusive or self.weight < most)
        if not fits:  # NaN too
            limit = "at most" if inclusive else "below"
            raise BadQuery(f"The weight of {self.kind} smoothing is {self.weight}; use 0 or more, {limit} {most:g}.")


@dataclass(frozen=True, slots=True)
class Query:
    """What a chart asks for: tags of runs between two x, in at most `buckets` columns each."""

    runs: Sequence[str]
    tags: Sequence[str]
    x: Axis = "step"
    start: float | None = None  # None: from the first point of any of the runs
    end: float | None = None  # included
    buckets: int = 1000
    log_x: bool = False  # columns of equal width on a logarithmic axis; points with x <= 0 are left out
    smoothing: Smoothing | None = None
    orphans: bool = False  # also what restarts took the place of, in rows of their own
    rank: int = 0

    def __post_init__(self) -> None:
        if self.x not in AXES:
            raise BadQuery(f"There is no x axis {self.x!r}. Use one of: {', '.join(AXES)}.")
        if not 1 <= self.buckets <= MOST_BUCKETS:
            raise BadQuery(f"A chart of {self.buckets} columns was asked for; use 1 to {MOST_BUCKETS}.")
        for bound in (self.start, self.end):
            if bound is not None and not math.isfinite(bound):
                raise BadQuery(f"The range ends at {bound}; use a finite number, or null for all.")
        if self.start is not None and self.end is not None and self.start > self.end:
            raise BadQuery(f"The range runs from {self.start:g} back to {self.end:g}; exchange the two.")


@dataclass(frozen=True, slots=True)
class GroupQuery(Query):
    """Statistics over runs that belong together, aligned on x.

    `by_regex`: runs whose names give the same match (its groups, joined by a space, where the expression has any).
    `by_hparam`: runs with the same value of a hyperparameter or configuration entry.
    `labels`: the group of each run, told by the caller; runs without one are in none. Nothing: all are one group.
    """

    by_regex: str | None = None
    by_hparam: str | None = None
    labels: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        Query.__post_init__(self)
        if [self.by_regex, self.by_hparam, self.labels].count(None) < 2:
            raise BadQuery("Runs are grouped by a regular expression, a hyperparameter or labels; choose one.")


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """One tag of one run, ready to draw.

    Exact: `x` and `y`, every point of the range, sorted by x (points of equal x as they were logged).
    Otherwise a row for each column of pixels that has points: `x` of its first point; `first`, `min`,
    `max` and `last` of its finite values (NaN where it has none); `count` of all its points, and how many of them are
    `nan`, `plus_inf` and `minus_inf`.
    With smoothing, `smooth` at each point, or at the last finite point of each column.
    With orphans, `orphan`: 1 in rows of orphaned points, which come after all others.
    Numbers are float64, counts and `orphan` uint32.
    """

    run: str
    tag: str
    points: int  # in the range, orphaned ones included where they were asked for
    exact: bool
    nan: int
    inf: int
    smoothed: bool
    columns: dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Statistics of one tag over one group of runs.

    Columns: `x`; `count`, the runs that have data there (uint32); `mean`, `median`, `min`, `max`, `sd`, `se`, and the
    95% interval of the mean, `low` to `high`. What takes two runs is NaN where there is one.
    """

    name: str
    tag: str
    runs: tuple[str, ...]
    columns: dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in one line."""

    name: str
    aliases: tuple[str, ...]
    directory: str
    started: float  # wall times; NaN where no event was read
    ended: float
    last_step: int | None  # of the last event with data; None where there is none
    points: int
    tags: int
    kinds: tuple[str, ...]
    ranks: tuple[int, ...]
    restarts: int
    live: bool  # something was written within the last minutes
    has_modules: bool  # it tells of the modules of a model
    revision: int  # of the store when this run changed last


@dataclass(frozen=True, slots=True)
class TagSummary:
    """A tag, over all runs asked for."""

    tag: str
    kinds: tuple[str, ...]
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What has changed since a revision. `complete`: the revision is not of this store, so everything is `added`."""

    revision: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    grown: dict[str, int | None] = field(default_factory=dict)  # run -> its last step
    complete: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.grown)


@dataclass(frozen=True, slots=True)
class Metric:
    """A scalar tag of one run in a few numbers, orphaned points left out. NaN where no finite value is."""

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
class Row:
    """One run of a table."""

    run: str
    hparams: dict[str, float | str | bool | None]
    config: dict[str, Any]  # flattened: nested names are joined by dots
    metrics: dict[str, Metric]


@dataclass(frozen=True, slots=True)
class RunTable:
    """Runs with their hyperparameters, configuration and metrics; the columns that any row has, in order."""

    hparams: tuple[str, ...]
    config: tuple[str, ...]
    metrics: tuple[str, ...]
    rows: tuple[Row, ...]
