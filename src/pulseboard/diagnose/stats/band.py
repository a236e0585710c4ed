"""A band: the range of the curves of several runs, and where another curve leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CELLS = 64
# Two of three runs may coincide by chance, so a cell has at least the spread of its neighbors.
_AROUND = 9
_END = _CELLS // 8
_SD_OF_MAD = 1.4826


@dataclass(frozen=True, slots=True)
class Band:
    """The median of several curves and their spread, in cells of equal width."""

    edges: Floats
    middle: Floats
    spread: Floats  # as a standard deviation
    runs: int


@dataclass(frozen=True, slots=True)
class Departure:
    """The part of a curve that is outside a band, on the side where more of it is."""

    first_x: float
    last_x: float
    share: float  # of the curve, as far as the band goes
    lasting: bool  # most of the end is outside too
    level: float
    middle: float
    runs: int

    @property
    def above(self) -> bool:
        """Whether the curve is above the band there."""
        return self.level > self.middle

    @property
    def ratio(self) -> float:
        """The curve's level over the band's."""
        return self.level / self.middle if self.middle else float("inf")


def band_of(curves: Sequence[tuple[Floats, Floats]]) -> Band | None:
    """The band of (x, values) of several runs, over the x that all of them have; None where there is no such x."""
    curves = [(x, values) for x, values in curves if len(x) > 1]
    if not curves:
        return None
    low, high = max(float(x[0]) for x, _ in curves), min(float(x[-1]) for x, _ in curves)
    if not high > low:
        return None
    edges = np.linspace(low, high, _CELLS + 1)
    levels = np.array([_levels(x, values, edges) for x, values in curves])
    middle = np.median(levels, axis=0)
    spread = _SD_OF_MAD * np.median(np.abs(levels - middle), axis=0)
    padded = np.pad(spread, _AROUND // 2, mode="edge")
    around = np.median(np.lib.stride_tricks.sliding_window_view(padded, _AROUND), axis=1)
    return Band(edges, middle, np.maximum(spread, around), len(curves))


def departure(x: Floats, values: Floats, band: Band, *, times: float, floor: float, from_x: float) -> Departure | None:
    """The cells in which a curve is further from the middle than `times` the spread and `floor` of it, on one side."""
    there = (band.edges[1:] <= x[-1]) & (band.edges[:-1] >= max(from_x, float(x[0]))) if len(x) > 1 else np.empty(0)
    if not there.any():
        return None
    levels, middle = _levels(x, values, band.edges)[there], band.middle[there]
    reach = np.maximum(times * band.spread[there], floor * np.abs(middle))
    side = np.where(levels > middle + reach, 1, np.where(levels < middle - reach, -1, 0))
    way = 1 if (side > 0).sum() >= (side < 0).sum() else -1
    outside = np.flatnonzero(side == way)
    if not len(outside):
        return None
    return Departure(
        first_x=float(band.edges[:-1][there][outside[0]]),
        last_x=float(band.edges[1:][there][outside[-1]]),
        share=float(len(outside) / len(side)),
        lasting=bool((side[-_END:] == way).mean() > 0.5),
        level=float(np.median(levels[outside])),
        middle=float(np.median(middle[outside])),
        runs=band.runs,
    )


def _levels(x: Floats, values: Floats, edges: Floats) -> Floats:
    """The median of the points in each cell; between two cells with points the straight line."""
    cell = np.clip(np.searchsorted(edges, x, "right") - 1, -1, len(edges) - 1)
    cell[x == edges[-1]] = len(edges) - 2
    middles = (edges[:-1] + edges[1:]) / 2
    found = [k for k in range(len(middles)) if (cell == k).any()]
    if not found:
        return np.interp(middles, x, values)
    return np.interp(middles, middles[found], [float(np.median(values[cell == k])) for k in found])
