"""The values of a tag as they are in the event files, without decoding them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.core.axes import Tag
from pulseboard.core.locations import location_of
from pulseboard.read.event_files.event_file import EventFile
from pulseboard.read.event_files.timeline import Part, Spans, parts_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_READ_BYTES = 64 << 20


class StoredValues:
    """Values of other kinds than scalars, in the order they were logged: arrays of one length, and their bytes."""

    def __init__(self, tag: Tag, files: Sequence[EventFile], *, fields: Collection[int]) -> None:
        import numpy as np

        self._pieces: list[tuple[Part, Spans]] = []
        for part in parts_of(tag, files):
            spans = part.spans()
            chosen = np.isin(spans.fields, sorted(fields))
            self._pieces.append((part, Spans._make(column[chosen] for column in spans)))

        def joined(column: str, dtype: type) -> NDArray[Any]:
            return np.concatenate([np.empty(0, dtype), *(getattr(spans, column) for _, spans in self._pieces)])

        self.steps: NDArray[np.int64] = joined("steps", np.int64)
        self.wall_times: NDArray[np.float64] = joined("wall_times", np.float64)
        self.fields: NDArray[np.uint32] = joined("fields", np.uint32)
        self.lengths: NDArray[np.uint32] = joined("lengths", np.uint32)
        self.orphaned: NDArray[np.bool_] = joined("orphaned", np.bool_)

    def read(self, start: int, end: int) -> list[bytes]:
        """The bytes of values [start, end)."""
        return [data for file, spans in self._of(start, end) for data in file.read(spans)]

    def ranges(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """[start, end) in parts of 64 MB at most, or one value."""
        import numpy as np

        sizes = np.cumsum(self.lengths[start:end], dtype=np.uint64)
        first = start
        while first < end:
            room = (int(sizes[first - start - 1]) if first > start else 0) + _MAX_READ_BYTES
            last = max(start + int(np.searchsorted(sizes, room, side="right")), first + 1)
            yield first, last
            first = last

    def places(self, start: int, end: int) -> list[tuple[str, int, int]]:
        """Where values [start, end) are: the path or URL of a file, offset and length."""
        return [(location_of(file.path), *span) for file, spans in self._of(start, end) for span in spans]

    def _of(self, start: int, end: int) -> Iterator[tuple[EventFile, list[tuple[int, int]]]]:
        for part, spans in self._pieces:
            n = len(spans.steps)
            if start < n and end > 0:
                yield part.file, spans.locations()[max(start, 0) : end]
            start, end = start - n, end - n
