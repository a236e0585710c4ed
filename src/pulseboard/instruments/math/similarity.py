"""Similarity: statistics of the cosines of all pairs of rows, without computing every pair."""

from __future__ import annotations

from typing import Any, NamedTuple

from pulseboard.instruments.math.arrays import at_least, directions, gram, largest, lengths, module_of, nan, rows

# All pairs of 1024 rows cost a third as much as the covariance of 4096 x 768 features.
MAX_ROWS = 1024


class Similarity(NamedTuple):
    """Statistics of the cosines of all pairs of different rows."""

    mean: Any
    max: Any
    std: Any


def pairwise_similarity(features: Any, *, max_rows: int = MAX_ROWS) -> Similarity:
    """Mean and standard deviation over all pairs; the maximum over at most `max_rows` evenly spaced rows.

    A row of zeros has cosine 0 with every other. NaN with fewer than two rows.
    """
    units = directions(rows(features))
    count = units.shape[0]
    if count < 2:
        undefined = nan(like=units)
        return Similarity(undefined, undefined, undefined)
    mean, std = _mean_and_std(units)
    return Similarity(mean, _max(units[:: -(-count // max_rows)]), std)


def _mean_and_std(units: Any) -> tuple[Any, Any]:
    """With m the mean row, v a row minus m, and a = v·m, the cosine of rows i and j is |m|² + a_i + a_j + v_i·v_j.

    Summed over all i and j, the last three are 0 and their squares are |VᵀV|² + 2 n sum a². The pairs of a row
    with itself are then subtracted. No large numbers cancel, so identical rows have std 0.
    """
    xp = module_of(units)
    count = units.shape[0]
    center = units.mean(0)
    centered = units - center
    along = (centered * center).sum(-1)
    with_itself = lengths(centered) ** 2 + 2 * along
    pairs = count * (count - 1)
    mean = -with_itself.sum() / pairs
    mean_square = ((gram(centered) ** 2).sum() + 2 * count * (along**2).sum() - (with_itself**2).sum()) / pairs
    return (center * center).sum() + mean, xp.sqrt(at_least(mean_square - mean * mean, 0.0))


def _max(units: Any) -> Any:
    xp = module_of(units)
    cosines = units @ units.T
    # Move the cosine of a row with itself below every other, so that it is never the maximum; NaN stays.
    return largest(cosines - 4 * xp.eye(units.shape[0], **_kind_of(units)))


def _kind_of(array: Any) -> dict[str, Any]:
    return {"dtype": array.dtype, "device": array.device} if hasattr(array, "new_empty") else {}
