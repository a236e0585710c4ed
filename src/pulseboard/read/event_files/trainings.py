"""Trainings that were logged to one directory, one after the other: which event files belong to which.

A program that is started again with the same log directory adds a file to it. If it resumes, the file continues where
the one before ended. If it starts over, the file is another training: the steps of its tags begin at zero again.
TensorBoard draws both as one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pulseboard.core.axes import Step, Tag, WallTime
from pulseboard.read.event_files.event_file import EventFile

# A tag with fewer points may be a result that is logged once, such as Lightning's `hp_metric` at step 0.
_MIN_POINTS = 2
# Of the tags that two files share, this share must begin again.
_MIN_BEGIN_AGAIN_FRAC = 0.5
# Steps of the same distance may vary a little.
_STRIDE_TOLERANCE = 1.25


class _Extent(NamedTuple):
    """Where the points of a tag in a file begin and end."""

    count: int  # type: ignore[assignment]  # hides the method of tuples
    first_step: Step
    max_step: Step

    @property
    def begins_at_zero(self) -> bool:
        """Whether the first step is not greater than the distance between steps."""
        stride = (self.max_step - self.first_step) / (self.count - 1)
        return self.first_step <= _STRIDE_TOLERANCE * stride


class _FileExtent(NamedTuple):
    tags: dict[Tag, _Extent]
    first_wall: WallTime
    last_wall: WallTime


class Trainings:
    """The trainings in the files of a directory. A file that only grows is not examined again."""

    def __init__(self) -> None:
        self._begins: dict[tuple[EventFile, int], bool] = {}  # by file and generation, once it has points

    def of(self, files: Sequence[EventFile]) -> list[list[EventFile]]:
        """The files of each training, in order. A single list if there are no signs of several."""
        groups: list[list[EventFile]] = []
        if len(files) < 2 or any(file.log.unversioned for file in files):
            return [list(files)]  # without versions, falling steps mark restarts
        for file in files:
            if groups and not self._begins_training(file, groups[-1]):
                groups[-1].append(file)
            else:
                groups.append([file])
        self._begins = {key: begins for key, begins in self._begins.items() if key[0] in files}
        return groups

    def _begins_training(self, file: EventFile, before: list[EventFile]) -> bool:
        key = (file, file.log.generation)
        if key not in self._begins:
            extent = _extent_of(file)
            if not any(tag.count >= _MIN_POINTS for tag in extent.tags.values()):
                return False  # to be decided when it has some
            self._begins[key] = not file.log.restarts() and _begins_again(extent, [_extent_of(one) for one in before])
        return self._begins[key]


def _begins_again(extent: _FileExtent, before: list[_FileExtent]) -> bool:
    """Whether a file repeats steps of the files before it from zero on, and was written after them."""
    if any(extent.first_wall < one.last_wall for one in before if one.tags):
        return False  # several writers at the same time, such as one for each rank
    shared = again = 0
    for tag, now in extent.tags.items():
        known = [one.tags[tag] for one in before if tag in one.tags and one.tags[tag].count >= _MIN_POINTS]
        if now.count < _MIN_POINTS or not known:
            continue
        shared += 1
        overlaps = max(one.max_step for one in known) >= now.first_step
        first_before = min(one.first_step for one in known)
        again += overlaps and (now.first_step <= first_before or now.begins_at_zero)
    return shared > 0 and again > _MIN_BEGIN_AGAIN_FRAC * shared


def _extent_of(file: EventFile) -> _FileExtent:
    tags: dict[Tag, _Extent] = {}
    first_wall, last_wall = float("inf"), float("-inf")
    for tag, entry in file.tags().items():
        if not entry.points:
            continue
        count, *_, first, last, first_step, _, _, max_step = file.log.stats(entry.index)
        tags[tag] = _Extent(count, first_step, max_step)
        first_wall, last_wall = min(first_wall, first), max(last_wall, last)
    return _FileExtent(tags, first_wall, last_wall)
