"""Rollups: blocks of a series summarized, so that a chart of a long one reads a few of them and not every point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHIFTS = (6, 12, 18)
"""Blocks hold 2^6, 2^12 and 2^18 points, counted in the order they were logged."""

COLUMNS: dict[str, str] = {
    "shift": "UInt8", "block": "UInt64", "nans": "UInt32", "plus_infs": "UInt32", "minus_infs": "UInt32",
    "first": "Float64", "min": "Float64", "max": "Float64", "last": "Float64",
    "step_first": "Int64", "step_last": "Int64", "wall_first": "Float64", "wall_last": "Float64",
}  # fmt: skip
"""The columns of a rollup and their types in the database. The four numbers are over finite values."""


def rollups(
    steps: NDArray[np.int64], walls: NDArray[np.float64], values: NDArray[np.float64], *, start: int, end: int
) -> Iterator[dict[str, NDArray[Any]]]:
    """The blocks that points [start, end) of a series complete, by column.

    A block is written once, when it is full, so no row of a rollup ever changes; the points after the last full block
    are read as they are.
    """
    for shift in SHIFTS:
        first, last = start >> shift, end >> shift
        if first < last:
            yield _blocks(steps, walls, values, shift=shift, first=first, last=last)


def _blocks(
    steps: NDArray[np.int64],
    walls: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    shift: int,
    first: int,
    last: int,
) -> dict[str, NDArray[Any]]:
    size, points = 1 << shift, slice(first << shift, last << shift)
    of_block = values[points].reshape(-1, size)
    finite = np.isfinite(of_block)
    rows = np.arange(len(of_block))
    any_finite = finite.any(axis=1)
    begin = np.arange(first, last) << shift

    def where_finite(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(any_finite, numbers, np.nan)

    return {
        "shift": np.full(len(rows), shift, np.uint8),
        "block": np.arange(first, last, dtype=np.uint64),
        "nans": np.isnan(of_block).sum(axis=1).astype(np.uint32),
        "plus_infs": np.isposinf(of_block).sum(axis=1).astype(np.uint32),
        "minus_infs": np.isneginf(of_block).sum(axis=1).astype(np.uint32),
        "first": where_finite(of_block[rows, finite.argmax(axis=1)]),
        "min": where_finite(np.where(finite, of_block, np.inf).min(axis=1)),
        "max": where_finite(np.where(finite, of_block, -np.inf).max(axis=1)),
        "last": where_finite(of_block[rows, size - 1 - finite[:, ::-1].argmax(axis=1)]),
        "step_first": steps[begin],
        "step_last": steps[begin + size - 1],
        "wall_first": walls[begin],
        "wall_last": walls[begin + size - 1],
    }
