"""A curve: one scalar tag of one run in memory, at full resolution, kept up with the run."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.files import kinds
from pulseboard.read.readers.event_file import EventFile
from pulseboard.read.run import Run
from pulseboard.store.line import Line

if TYPE_CHECKING:
    from pulseboard.native.kernel import Cuts


@dataclass(frozen=True, slots=True, eq=False)
class _Taken:
    """What one file had when the curve last looked, all that tells whether it has only grown since."""

    file: EventFile
    generation: int
    points: int
    restarts: int
    cuts: Cuts


class Curve:
    """What a run logged under one tag. `lock` is held while it is brought up to date or looked at."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.lock = threading.Lock()
        self.live = Line()
        self.orphaned = Line()
        self._at: object = None
        self._taken: list[_Taken] = []

    def update(self, run: Run) -> None:
        """Take up what the run has now. Costs what is new, unless a restart or another file changed what was there."""
        at = [(file, file.log.generation, file.log.offset) for file in run.files]
        if at == self._at:
            return
        if not self._grow(run):
            self._load(run)
        self._at = at

    @property
    def first_wall(self) -> float:
        """The wall time from which relative time counts: of the first point, orphaned or not."""
        return float(np.fmin(self.live.first_wall, self.orphaned.first_wall))

    @property
    def held_bytes(self) -> int:
        """Memory."""
        return self.live.held_bytes + self.orphaned.held_bytes

    def _load(self, run: Run) -> None:
        taken = self._look(run)
        series = run.series(self.tag, orphans=True)
        self.live, self.orphaned = Line(), Line()
        if series.orphaned.any():
            for line, chosen in ((self.live, ~series.orphaned), (self.orphaned, series.orphaned)):
                line.add(series.steps[chosen], series.wall_times[chosen], series.values[chosen])
        else:
            self.live.add(series.steps, series.wall_times, series.values)
        # A file may have grown between the two looks; then the next time begins anew.
        self._taken = taken if sum(part.points for part in taken) == len(series) else []

    def _look(self, run: Run) -> list[_Taken]:
        """What each file has of this tag; nothing where that does not tell which points are orphaned."""
        info = run.info(self.tag)
        if info is None or any(kinds.kind_of(what, info.plugin) == kinds.SCALAR for what in info.whats):
            return []  # some points have to be decoded from spans
        if len(run.files) > 1 and any(file.log.unversioned for file in run.files):
            return []  # then falling steps of one file orphan points of others
        return [self._look_at(file) for file in run.files]

    def _look_at(self, file: EventFile) -> _Taken:
        generation, restarts = file.log.generation, len(file.log.restarts())
        entry = file.entry(self.tag)
        if entry is None:
            return _Taken(file, generation, 0, restarts, (restarts, []))
        return _Taken(file, generation, entry.points, restarts, file.log.point_columns(entry.index, entry.points)[-1])

    def _grow(self, run: Run) -> bool:
        """Add what is new at the end. False, and nothing done, where that is not all that has changed."""
        before, now = self._taken, self._look(run)
        if not before or len(now) < len(before) or not all(map(_same_past, before, now)):
            return False
        starts = [part.points for part in before] + [0] * (len(now) - len(before))
        grown = [i for i, part in enumerate(now) if part.points > starts[i]]
        if any(part.restarts for part in now[len(before) :]) or len(grown) > 1:
            return False
        for i in grown:
            part = now[i]
            later = now[i + 1 :]
            if part.cuts[0] != part.restarts or any(after.points or after.restarts for after in later):
                return False
            if not starts[i] and part.cuts[1]:
                return False  # new points that are orphaned already
            entry = part.file.entry(self.tag)
            if entry is None:
                return False
            steps, walls, values, cuts = part.file.log.point_columns(entry.index, starts[i])
            if (part.file.log.generation, cuts) != (part.generation, part.cuts):
                return False
            n = part.points - starts[i]  # a thread that loads may have added more by now
            self.live.add(
                np.frombuffer(steps, np.int64)[:n],
                np.frombuffer(walls, np.float64)[:n],
                np.frombuffer(values, np.float64)[:n],
            )
        self._taken = now
        return True


def _same_past(before: _Taken, now: _Taken) -> bool:
    """Whether a file has nothing that makes earlier points orphaned, or other ones."""
    same = (before.file, before.generation, before.restarts) == (now.file, now.generation, now.restarts)
    return same and (not before.points or before.cuts == now.cuts) and before.points <= now.points
