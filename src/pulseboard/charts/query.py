"""What a chart can ask for: runs, tags, a range of x, smoothing and grouping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

AXES = ("step", "relative", "wall")
TAG_PREFIX = "tag:"
"""Before the tag of a metric that is the x axis: `tag:train/tokens`."""

SmoothingKind = Literal["debiased", "time-weighted", "gaussian", "running-mean"]
SMOOTHINGS: tuple[SmoothingKind, ...] = ("debiased", "time-weighted", "gaussian", "running-mean")

MAX_BUCKETS = 20_000
"""No screen is wider. A larger number is a mistake and would only cost memory."""

MAX_SMOOTHING_POINTS = 10_000
"""The widest kernel of `gaussian` (its sigma) and `running-mean` (its window)."""


class BadQuery(ValueError):
    """A query that makes no sense; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How a curve is smoothed. The meaning of `weight` depends on the kind.

    debiased       the weight of TensorBoard's slider, from 0 up to but not including 1
    time-weighted  the weight of W&B's slider: old points fade with their distance in x, not with each new point
    gaussian       the standard deviation, in points
    running-mean   the width of the window, in points
    """

    kind: SmoothingKind
    weight: float

    def __post_init__(self) -> None:
        if self.kind not in SMOOTHINGS:
            raise BadQuery(f"Unknown smoothing {self.kind!r}. Use one of: {', '.join(SMOOTHINGS)}.")
        exponential = self.kind in ("debiased", "time-weighted")
        max_weight = 1.0 if exponential else float(MAX_SMOOTHING_POINTS)
        valid = 0 <= self.weight < max_weight or (not exponential and self.weight == max_weight)  # False for NaN
        if not valid:
            limit = "below" if exponential else "at most"
            raise BadQuery(
                f"The weight of {self.kind} smoothing is {self.weight}; use 0 or more, {limit} {max_weight:g}."
            )


@dataclass(frozen=True, slots=True)
class Query:
    """Tags of runs in a range of x, reduced to at most `buckets` pixel columns each."""

    runs: Sequence[str]
    tags: Sequence[str]
    x: str = "step"  # one of AXES, or TAG_PREFIX and a tag
    start: float | None = None  # None: from the first point of any of the runs
    end: float | None = None  # inclusive; None: to the last point of any of the runs
    buckets: int = 1000
    log_x: bool = False  # buckets of equal width on a logarithmic axis; points with x <= 0 are left out
    smoothing: Smoothing | None = None
    orphans: bool = False  # also return orphaned points, in rows of their own
    neighbors: bool = False  # also return the nearest point on each side of the range, so that lines reach its edges
    rank: int = 0

    def __post_init__(self) -> None:
        if self.x not in AXES and not self.x_tag:
            raise BadQuery(f"Unknown x axis {self.x!r}. Use one of: {', '.join(AXES)}, {TAG_PREFIX}NAME OF A METRIC.")
        if not 1 <= self.buckets <= MAX_BUCKETS:
            raise BadQuery(f"The number of buckets is {self.buckets}; use 1 to {MAX_BUCKETS}.")
        for bound in (self.start, self.end):
            if bound is not None and not math.isfinite(bound):
                raise BadQuery(f"The range has the bound {bound}; use a finite number, or null for no bound.")
        if self.start is not None and self.end is not None and self.start > self.end:
            raise BadQuery(f"The range starts at {self.start:g} and ends at {self.end:g}; swap the two.")

    @property
    def x_tag(self) -> str:
        """The tag of the metric that is the x axis; empty if none is."""
        return self.x.removeprefix(TAG_PREFIX) if self.x.startswith(TAG_PREFIX) else ""


@dataclass(frozen=True, slots=True)
class GroupQuery(Query):
    """Statistics over groups of runs, aligned on x.

    `by_hparam` groups runs that have the same value of a hyperparameter or config entry. If it is None, all runs are
    one group.
    """

    by_hparam: str | None = None
