"""Scalar series of a run, put together from the columns of its event files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.core.axes import Tag
from pulseboard.core.series import Series
from pulseboard.read.event_files.event_file import EventFile, TagEntry
from pulseboard.read.event_files.timeline import Part, PointColumns, parts_of
from pulseboard.read.stats import ScalarStats
from pulseboard.read.tag_info import TagInfo
from pulseboard.tbformat import kinds

if TYPE_CHECKING:
    from numpy.typing import NDArray

LeaveOut = Callable[[EventFile, Tag, int, Exception], None]
"""Called with a value that cannot be decoded: its file, tag and byte, and the reason."""


def series_in(file: EventFile, tag: Tag) -> Series | None:
    """The points of a scalar tag in a run of one file, the usual case; None if it takes `series_of` to tell."""
    placed = file.log.packed_series(tag)
    if placed is not None:  # as most are
        numbers, start, points = placed
        packed = file.packed
        if packed is None or packed.numbers is not numbers:
            from pulseboard.read.event_files.packed_columns import PackedColumns

            packed = file.packed = PackedColumns(numbers)
        return packed.series(tag, start, points)
    file.packed = None  # memory that the file may have grown out of
    columns = file.log.series(tag)
    if columns is None:
        return None
    import numpy as np

    steps, wall_times, values = columns
    array = np.frombuffer(steps, np.int64)
    none_orphaned = np.zeros(len(array), np.bool_)
    return Series(tag, array, np.frombuffer(wall_times), np.frombuffer(values), none_orphaned)


def series_of(info: TagInfo, files: Sequence[EventFile], *, orphans: bool, leave_out: LeaveOut) -> Series:
    """The points of a scalar tag over all files. Raises LookupError if a file was reloaded meanwhile."""
    has_scalar_spans = any(kinds.kind_of(number, info.plugin) == kinds.SCALAR for number in info.fields)
    columns: list[PointColumns] = []
    for part in parts_of(info.tag, files):
        columns.append(part.points())
        if has_scalar_spans and part.entry.spans:
            columns.append(_points_in_spans(part, info, leave_out))
    return _joined(info.tag, columns, orphans=orphans)


def is_one_session(files: Sequence[EventFile]) -> bool:
    """Whether the run is a single file without restarts, so that nothing is orphaned."""
    return len(files) == 1 and not files[0].log.unversioned and not files[0].log.restarts()


def stats_from_kernel(file: EventFile, entry: TagEntry) -> ScalarStats:
    """The summary of a tag that is all in one file, without copying its points."""
    n, nan, inf, low, high, last, first_wall, last_wall, first_step, last_step, _, max_step = file.log.stats(
        entry.index
    )
    return ScalarStats(entry.name, n, nan, inf, low, high, last, first_step, last_step, max_step, first_wall, last_wall)


def _points_in_spans(part: Part, info: TagInfo, leave_out: LeaveOut) -> PointColumns:
    """Scalars that the kernel kept as spans, because only another file of the run names their plugin."""
    import numpy as np

    from pulseboard.tbformat.summary import decode_value

    spans = part.spans()
    values: list[float] = []
    indices: list[int] = []
    for i, raw in enumerate(part.file.read(spans.locations())):
        number = int(spans.fields[i])
        if kinds.kind_of(number, info.plugin) != kinds.SCALAR:
            continue
        try:
            tensor = decode_value(kinds.TENSOR, raw, b"", step=0, wall_time=0.0, field=number)
            values.append(float(tensor.array.reshape(())))
            indices.append(i)
        except (ValueError, TypeError) as error:  # MalformedMessage is a ValueError
            leave_out(part.file, info.tag, int(spans.offsets[i]), error)
    return PointColumns(spans.steps[indices], spans.wall_times[indices], np.array(values), spans.orphaned[indices])


def _joined(tag: Tag, parts: list[PointColumns], *, orphans: bool) -> Series:
    import numpy as np

    def column(name: str) -> NDArray[Any]:
        arrays = [getattr(part, name) for part in parts]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    steps, wall_times, values, orphaned = map(column, ("steps", "wall_times", "values", "orphaned"))
    if not orphans and orphaned.any():
        keep = ~orphaned
        steps, wall_times, values, orphaned = steps[keep], wall_times[keep], values[keep], orphaned[keep]
    return Series(tag, steps, wall_times, values, orphaned)
