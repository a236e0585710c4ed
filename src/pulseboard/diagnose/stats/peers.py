"""Peers: whether one rank consistently differs from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outsider:
    """A rank that differs from its peers."""

    rank: int
    ratio: float  # its median over the median of the others
    share_of_windows: float  # in which it differed


def outsiders(by_rank: Mapping[int, Floats], *, least_effect: float, windows: int = 3) -> list[Outsider]:
    """Ranks whose values differ from the median of the others by `least_effect` in each of the last windows.

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
        ratios = []
        for piece in pieces:
            own = float(np.median(piece[i]))
            others = float(np.median(np.delete(piece, i, axis=0)))
            ratios.append(own / others if others > 0 else 1.0)
        apart = [ratio >= 1 + least_effect for ratio in ratios]
        if len(apart) >= windows and all(apart[:windows]):
            found.append(Outsider(rank, float(np.median(ratios)), sum(apart) / len(apart)))
    return found
