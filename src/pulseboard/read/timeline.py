"""One tag's data across the files of a run, with what restarts orphaned marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulseboard.read import restarts
from pulseboard.read.readers.event_file import EventFile, TagEntry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(slots=True)
class Points:
    """Scalar points of one file."""

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    orphaned: NDArray[np.bool_]


@dataclass(slots=True)
class Spans:
    """Where values of other kinds lie in one file. `whats` says how: native/events.h."""

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    offsets: NDArray[np.uint64]
    lengths: NDArray[np.uint32]
    whats: NDArray[np.uint32]
    orphaned: NDArray[np.bool_]

    def places(self) -> list[tuple[int, int]]:
        """(offset, length) of each."""
        return list(zip(self.offsets.tolist(), self.lengths.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Part:
    """What one file holds of a tag, and the limits that restarts set on it."""

    file: EventFile
    entry: TagEntry
    limits: list[int]  # after each restart of this file, the step that earlier points must be below
    later: int  # the same, from the tag's own falling steps in later files

    def points(self) -> Points:
        """The file's points of this tag, copied out of the kernel."""
        import numpy as np

        step, wall, value, cuts = self.file.log.point_columns(self.entry.index)
        steps = np.frombuffer(step, np.int64)
        orphaned = restarts.orphaned_mask(steps, cuts, self.limits, later=self.later)
        return Points(steps, np.frombuffer(wall, np.float64), np.frombuffer(value, np.float64), orphaned)

    def spans(self) -> Spans:
        """The file's spans of this tag."""
        import numpy as np

        step, wall, offset, length, what, cuts = self.file.log.span_columns(self.entry.index)
        steps = np.frombuffer(step, np.int64)
        return Spans(
            steps,
            np.frombuffer(wall, np.float64),
            np.frombuffer(offset, np.uint64),
            np.frombuffer(length, np.uint32),
            np.frombuffer(what, np.uint32),
            restarts.orphaned_mask(steps, cuts, self.limits, later=self.later),
        )


def parts_of(tag: str, files: Sequence[EventFile]) -> list[Part]:
    """The tag's parts in file order. Found from the last file back: a restart reaches backwards."""
    out: list[Part] = []
    later = later_own = restarts.NEVER
    for file in reversed(files):
        limits = restarts.limits_from([step for step, _, _ in file.log.restarts()], later=later)
        later = limits[0]
        entry = file.entry(tag)
        if entry is None:
            continue
        out.append(Part(file, entry, limits, later_own))
        if file.log.unversioned:
            later_own = min(later_own, restarts.least_own_cut(file.log.span_columns(entry.index)[-1]))
    return out[::-1]
