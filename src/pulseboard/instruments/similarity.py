"""Similarity: the cosines of all pairs of rows, without looking at all pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

from pulseboard.instruments.arrays import at_least, directions, gram, largest, lengths, module_of, nan, rows

# All pairs of 1024 rows cost a third of what the covariance of 4096 x 768 features does.
MAX_ROWS = 1024


class Similarity(NamedTuple):
    """Of the cosines of all pairs of two different rows."""

    mean: Any
    max: Any
    std: Any


def pairwise_similarity(features: Any, *, max_rows: int = MAX_ROWS) -> Similarity:
    """Mean and standard deviation are of all pairs. The largest is of at most `max_rows` rows, evenly spaced.

    A row of zeros has cosine 0 with all. NaN where there are no two rows.
    """
    units = directions(rows(features))
    count = units.shape[0]
    if count < 2:
        nothing = nan(like=units)
        return Similarity(nothing, nothing, nothing)
    mean, std = _mean_and_std(units)
    return Similarity(mean, _max(units[:: -(-count // max_rows)]), std)


def _mean_and_std(units: Any) -> tuple[Any, Any]:
    """With m the mean row, v a row less m, and a = v·m: the cosine of rows i and j is |m|² + a_i + a_j + v_i·v_j.

    Summed over all i and j the last three are 0, and their squares are |VᵀV|² + 2 n sum a². The pairs of a row
    with itself are then taken away. Nothing large is subtracted, so rows that are all alike have std 0.
    """
    xp = module_of(units)
    count = units.shape[0]
    middle = units.mean(0)
    apart = units - middle
    along = (apart * middle).sum(-1)
    itself = lengths(apart) ** 2 + 2 * along
    pairs = count * (count - 1)
    first = -itself.sum() / pairs
    second = ((gram(apart) ** 2).sum() + 2 * count * (along**2).sum() - (itself**2).sum()) / pairs
    return (middle * middle).sum() + first, xp.sqrt(at_least(second - first * first, 0.0))


def _max(units: Any) -> Any:
    xp = module_of(units)
    cosines = units @ units.T
    # Below every cosine, so that a row's with itself is never the largest; NaN stays.
    return largest(cosines - 4 * xp.eye(units.shape[0], **_on(units)))


def _on(array: Any) -> dict[str, Any]:
    return {"dtype": array.dtype, "device": array.device} if hasattr(array, "new_empty") else {}
