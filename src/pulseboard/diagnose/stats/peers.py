"""Peers: whether one rank consistently differs from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The standard error of a median, as a multiple of the median absolute deviation over the root of the points.
_SD_OF_MEDIAN = 1.4826 * 1.2533
# In each of three windows: 2e-7 by chance.
_LEAST_ERRORS = 2.5


@dataclass(frozen=True, slots=True)
class Outsider:
    """A rank that differs from its peers."""

    rank: int
    ratio: float  # its median over the median of the others
    share_of_windows: float  # in which it differed


def outsiders(by_rank: Mapping[int, Floats], *, least_effect: float, windows: int = 3) -> list[Outsider]:
    """Ranks whose values exceed the median of the others by `least_effect`, and by more than the noise of the two
    medians, in each of the last windows.

    All arrays have the same length and steps. Values must be positive, because ratios are compared.
    """
    ranks = sorted(by_rank)
    if len(ranks) < 2:
        return []
    table = np.stack([by_rank[rank] for rank in ranks])
    n = table.shape[1]
    if n < windows * 3:
        return []
    size = max(3, n // max(windows, min(12, n // 8 or 1)))
    pieces = [table[:, max(0, n - (i + 1) * size) : n - i * size] for i in range(n // size)]
    found = []
    for i, rank in enumerate(ranks):
        ratios, apart = [], []
        for piece in pieces:
            own = float(np.median(piece[i]))
            others = float(np.median(np.delete(piece, i, axis=0)))
            error = _SD_OF_MEDIAN * float(np.median(np.abs(piece[i] - own))) / np.sqrt(piece.shape[1])
            ratios.append(own / others if others > 0 else 1.0)
            apart.append(ratios[-1] >= 1 + least_effect and own - others > _LEAST_ERRORS * error)
        if len(apart) >= windows and all(apart[:windows]):
            found.append(Outsider(rank, float(np.median(ratios)), sum(apart) / len(apart)))
    return found
