"""One tag's data across the files of a run, with the points that restarts orphaned marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pulseboard.core.axes import Step, Tag
from pulseboard.read.event_files import restarts
from pulseboard.read.event_files.event_file import EventFile, TagEntry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PointColumns(NamedTuple):
    """The scalar points of one tag in one file: arrays of one length."""

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    orphaned: NDArray[np.bool_]


class Spans(NamedTuple):
    """Where the values of other kinds are in one file: arrays of one length.

    `fields` are the fields of the message that hold the values, numbered as in tbformat/kinds.py.
    """

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    offsets: NDArray[np.uint64]
    lengths: NDArray[np.uint32]
    fields: NDArray[np.uint32]
    orphaned: NDArray[np.bool_]

    def locations(self) -> list[tuple[int, int]]:
        """The (offset, length) of each value."""
        return list(zip(self.offsets.tolist(), self.lengths.tolist(), strict=True))


class Part(NamedTuple):
    """What one file holds under a tag, and the limits that restarts put on it."""

    file: EventFile
    entry: TagEntry
    limits: list[Step]  # after each restart of this file: earlier points must be below this step
    later_limit: Step  # the same, from falling steps of this tag in later files

    def points(self) -> PointColumns:
        """The file's points of this tag, copied out of the kernel."""
        import numpy as np

        step, wall, value, cuts = self.file.log.point_columns(self.entry.index)
        steps = np.frombuffer(step, np.int64)
        orphaned = restarts.orphaned_mask(steps, cuts, self.limits, later_limit=self.later_limit)
        return PointColumns(steps, np.frombuffer(wall, np.float64), np.frombuffer(value, np.float64), orphaned)

    def spans(self) -> Spans:
        """The file's spans of this tag."""
        import numpy as np

        step, wall, offset, length, field, cuts = self.file.log.span_columns(self.entry.index)
        steps = np.frombuffer(step, np.int64)
        return Spans(
            steps,
            np.frombuffer(wall, np.float64),
            np.frombuffer(offset, np.uint64),
            np.frombuffer(length, np.uint32),
            np.frombuffer(field, np.uint32),
            restarts.orphaned_mask(steps, cuts, self.limits, later_limit=self.later_limit),
        )


def parts_of(tag: Tag, files: Sequence[EventFile]) -> list[Part]:
    """The tag's parts in file order. Built from the last file to the first, since a restart affects earlier points."""
    out: list[Part] = []
    later_limit = later_own_limit = restarts.NO_LIMIT
    for file in reversed(files):
        limits = restarts.limits_from([step for step, _, _ in file.log.restarts()], later_limit=later_limit)
        later_limit = limits[0]
        entry = file.entry(tag)
        if entry is None:
            continue
        out.append(Part(file, entry, limits, later_own_limit))
        if file.log.unversioned:
            later_own_limit = min(later_own_limit, restarts.min_own_cut(file.log.span_columns(entry.index)[-1]))
    return out[::-1]
