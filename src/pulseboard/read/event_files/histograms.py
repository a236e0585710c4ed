"""Histograms of one file, decoded by the kernel with one allocation for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulseboard.core.histogram import Histogram
from pulseboard.kernel import values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pulseboard.read.event_files.timeline import Part, Spans

    Floats = NDArray[np.float64]

# The columns of the kernel's table: pb_stored_histogram in kernel/c/values/histograms.h.
_AT, _LIMITS_AT, _LIMIT_N, _COUNT_N, _FIRST, _SHOWN_N, _MIN, _MAX, _NUM, _SUM, _SUM_SQUARES = range(11)


def decoded(part: Part, spans: Spans, wanted: list[int], metadata: bytes) -> list[Histogram | None]:
    """The histograms among a tag's spans in one file; None for one that the kernel leaves to `decode_value`."""
    if not wanted or part.file.archived or (metadata and not _is_metadata(metadata)):
        return [None] * len(wanted)
    import numpy as np

    chosen: Any = slice(None) if len(wanted) == len(spans.offsets) else wanted
    with part.file.open() as stream:
        buffer, rows = values.histograms(
            stream.fileno(), spans.offsets[chosen], spans.lengths[chosen], spans.fields[chosen]
        )
    table = np.frombuffer(rows, np.int64).reshape(-1, _SUM_SQUARES + 1)
    batch = _Batch(table, np.frombuffer(buffer), spans.steps[chosen].tolist(), spans.wall_times[chosen].tolist())
    return [_Decoded(batch, i) if at >= 0 else None for i, at in enumerate(table[:, _AT].tolist())]


def _is_metadata(metadata: bytes) -> bool:
    """Whether the tag's metadata is intact. If not, no value can be decoded, and `decode_value` says why."""
    from pulseboard.tbformat.stored_value import read_metadata

    try:
        read_metadata(metadata)
    except ValueError:
        return False
    return True


class _Batch:
    """The histograms of one tag in one file."""

    __slots__ = ("integers", "numbers", "steps", "stored", "wall_times")

    def __init__(self, table: NDArray[np.int64], numbers: Floats, steps: list[int], wall_times: list[float]) -> None:
        self.integers = table
        self.stored: Floats = table.view("f8")
        self.numbers = numbers
        self.steps = steps
        self.wall_times = wall_times


class _Decoded(Histogram):
    """One histogram of a batch: all numbers are decoded, and the arrays are views of the batch's."""

    __slots__ = ("_batch", "_i")

    def __init__(self, batch: _Batch, i: int) -> None:
        self._batch = batch
        self._i = i

    def _place(self) -> tuple[int, ...]:
        """Where its numbers begin, where its limits do, how many limits (-1: it is of the tensor form) and counts it
        has, the first of them shown, and how many are."""
        place: list[int] = self._batch.integers[self._i, : _SHOWN_N + 1].tolist()
        return tuple(place)

    def _slice(self, start: int, length: int) -> Floats:
        return self._batch.numbers[start : start + length]

    def _edges(self) -> Floats:
        """The edges of the shown buckets in the old form: the limits between them, the smallest and greatest value."""
        import numpy as np

        _, limits_at, _, _, first, shown = self._place()
        low, high = self._batch.stored[self._i, _MIN : _MIN + 1], self._batch.stored[self._i, _MAX : _MAX + 1]
        inner = self._slice(limits_at + first, shown - 1)
        edges = np.concatenate([low, inner, high]) if shown else np.empty(0)
        edges.flags.writeable = False
        return edges

    def _stored(self, column: int) -> float | None:
        if self._batch.integers[self._i, _LIMIT_N] < 0:
            return None
        return float(self._batch.stored[self._i, column])

    @property
    def step(self) -> int:  # type: ignore[override]
        return self._batch.steps[self._i]

    @property
    def wall_time(self) -> float:  # type: ignore[override]
        return self._batch.wall_times[self._i]

    @property
    def lefts(self) -> Floats:  # type: ignore[override]
        at, _, limit_n, _, _, shown = self._place()
        return self._slice(at, shown) if limit_n < 0 else self._edges()[:-1]

    @property
    def rights(self) -> Floats:  # type: ignore[override]
        at, _, limit_n, _, _, shown = self._place()
        return self._slice(at + shown, shown) if limit_n < 0 else self._edges()[1:]

    @property
    def counts(self) -> Floats:  # type: ignore[override]
        at, _, limit_n, _, first, shown = self._place()
        return self._slice(at + 2 * shown, shown) if limit_n < 0 else self._slice(at + first, shown)

    @property
    def bucket_counts(self) -> Floats | None:  # type: ignore[override]
        at, _, limit_n, count_n, _, _ = self._place()
        return None if limit_n < 0 else self._slice(at, count_n)

    @property
    def bucket_limits(self) -> Floats | None:  # type: ignore[override]
        _, limits_at, limit_n, _, _, _ = self._place()
        return None if limit_n < 0 else self._slice(limits_at, limit_n)

    @property
    def min(self) -> float | None:  # type: ignore[override]
        return self._stored(_MIN)

    @property
    def max(self) -> float | None:  # type: ignore[override]
        return self._stored(_MAX)

    @property
    def num(self) -> float | None:  # type: ignore[override]
        return self._stored(_NUM)

    @property
    def sum(self) -> float | None:  # type: ignore[override]
        return self._stored(_SUM)

    @property
    def sum_squares(self) -> float | None:  # type: ignore[override]
        return self._stored(_SUM_SQUARES)
