"""A histogram: one logged distribution as counts in buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Not in values.py: the classes of all other values take as long to load as reading a thousand histograms.
class Histogram:
    """Buckets as TensorBoard shows them. If the file uses the old encoding, its fields are kept unchanged too.

    Arrays are read-only, because several readers may share a value.
    """

    __slots__ = (
        "bucket_counts",
        "bucket_limits",
        "counts",
        "lefts",
        "max",
        "min",
        "num",
        "rights",
        "step",
        "sum",
        "sum_squares",
        "wall_time",
    )

    def __init__(
        self,
        *,
        step: int,
        wall_time: float,
        lefts: NDArray[np.float64],
        rights: NDArray[np.float64],
        counts: NDArray[np.float64],
        min: float | None = None,
        max: float | None = None,
        num: float | None = None,
        sum: float | None = None,
        sum_squares: float | None = None,
        bucket_limits: NDArray[np.float64] | None = None,
        bucket_counts: NDArray[np.float64] | None = None,
    ) -> None:
        self.step = step
        self.wall_time = wall_time  # seconds since 1970, as in the file
        # Bucket i counts the values from lefts[i] to rights[i]. Empty arrays if nothing was counted.
        self.lefts = lefts
        self.rights = rights
        self.counts = counts
        # Old encoding only. None for the tensor encoding, which does not store them.
        self.min = min
        self.max = max
        self.num = num
        self.sum = sum
        self.sum_squares = sum_squares
        self.bucket_limits = bucket_limits  # right edges; the outermost is often ±1.8e308
        self.bucket_counts = bucket_counts

    def __repr__(self) -> str:
        return f"Histogram(step={self.step}, {len(self.counts)} buckets)"
