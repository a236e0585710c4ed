"""Heatmaps of families of tags: `gradient_norm/layer_{i}` over steps, a row for each member."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pulseboard.charts.query import BadQuery
from pulseboard.core.series import Series

PLACEHOLDER = "{i}"
"""The number in which the tags of a family differ."""

MAX_CELLS = 2_000_000
"""A family of 10,000 tags then has 200 columns, and the response 8 MB."""

MAX_COLUMNS = 2000


@dataclass(frozen=True, slots=True)
class Heatmap:
    """The values of a family in a range of steps, one row per member, sorted by number."""

    members: list[str]  # the numbers as they are in the tags
    steps: NDArray[np.float64]  # the middle of each column
    span: tuple[float, float]  # the first and last step
    values: NDArray[np.float32]
    """Members x columns: the mean of the points in a cell; NaN if it has none, infinite if one is not finite."""


def family_members(family: str, tags: Iterable[str]) -> dict[str, str]:
    """The tags of a family by their number, smallest first. Raises BadQuery if the pattern has no placeholder."""
    before, placeholder, after = family.partition(PLACEHOLDER)
    if not placeholder:
        raise BadQuery(f"The family {family!r} has no {PLACEHOLDER}. Write it in place of the number.")
    pattern = re.compile(f"{re.escape(before)}(\\d{{1,18}}){re.escape(after)}")
    found = {match[1]: tag for tag in tags if (match := pattern.fullmatch(tag))}
    return dict(sorted(found.items(), key=lambda item: (int(item[0]), item[0])))


def heatmap(
    members: dict[str, str],
    series_of: Callable[[str], Series],
    *,
    start: float | None,
    end: float | None,
    columns: int,
) -> Heatmap:
    """The heatmap of these tags between two steps (None: of all points), with at most `columns` columns.

    Raises BadQuery if the range ends before it starts.
    """
    if start is not None and end is not None and start > end:
        raise BadQuery(f"The range starts at {start:g} and ends at {end:g}; swap the two.")
    series = [series_of(tag) for tag in members.values()]
    ends = [(one.steps.min(), one.steps.max()) for one in series if len(one)]
    low = float(min((first for first, _ in ends), default=0)) if start is None else start
    high = float(max((last for _, last in ends), default=0)) if end is None else end
    points = max((int(((one.steps >= low) & (one.steps <= high)).sum()) for one in series), default=0)
    # A column for each point of the densest member: more would be gaps.
    count = max(1, min(columns, MAX_COLUMNS, MAX_CELLS // max(1, len(series)), points))
    values = np.full((len(series), count), np.nan, np.float32)
    for row, one in enumerate(series):
        _fill(values[row], one, low, high)
    middles = low + (high - low) / count * (np.arange(count, dtype=np.float64) + 0.5)
    return Heatmap(list(members), np.asarray(middles, np.float64), (low, high), values)


def _fill(row: NDArray[np.float32], series: Series, low: float, high: float) -> None:
    steps = np.asarray(series.steps, np.float64)
    inside = (steps >= low) & (steps <= high)
    steps, points = steps[inside], np.asarray(series.values, np.float64)[inside]
    if not len(steps):
        return
    share = (steps - low) / (high - low) if high > low else np.zeros(len(steps))
    column = np.minimum((share * len(row)).astype(np.int64), len(row) - 1)
    counts = np.bincount(column, minlength=len(row))
    with np.errstate(all="ignore"):
        mean = np.bincount(column, points, len(row)) / counts  # 0 / 0 is NaN: no points
        row[:] = mean
    row[np.unique(column[~np.isfinite(points)])] = np.inf
