"""A curve: one scalar tag of one run in memory at full resolution, updated as the run grows."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.charts.line import Line
from pulseboard.core.series import Series
from pulseboard.read.event_files.event_file import EventFile
from pulseboard.read.event_files.run import EventFileRun
from pulseboard.read.run import Run
from pulseboard.tbformat import kinds

if TYPE_CHECKING:
    from pulseboard.kernel.reader import Cuts


@dataclass(frozen=True, slots=True, eq=False)
class _FileState:
    """What one file held at the last update: enough to see whether it has only grown since."""

    file: EventFile
    generation: int
    points: int
    restarts: int
    cuts: Cuts


class Curve:
    """What a run logged under one tag. Hold `lock` to update or read it."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.lock = threading.Lock()
        self.live = Line()
        self.orphaned = Line()
        self.version = 0
        """Grows with every change."""
        self._position: object = None
        self._states: list[_FileState] = []
        self._series: Series | None = None  # the last one, of another format than event files

    def update(self, run: Run) -> None:
        """Load what the run has now. Reads only new points, unless a restart or another file changed the old ones."""
        log, tag = run.source_of(self.tag)
        if isinstance(log, EventFileRun):
            self._update_from_event_files(log)
        else:
            self._update_from(log.series(tag, orphans=True))

    def _update_from(self, series: Series) -> None:
        """Load a series of another format, which is in memory: only new points if the old ones are the same."""
        if series is self._position:
            return
        n = len(self._series) if self._series is not None else 0
        if self._series is None or not _begins_with(series, self._series) or series.orphaned[n:].any():
            self.live, self.orphaned, n = Line(), Line(), 0
        steps, wall_times, values = series.steps[n:], series.wall_times[n:], series.values[n:]
        lost = series.orphaned[n:]
        if lost.any():
            for line, chosen in ((self.live, ~lost), (self.orphaned, lost)):
                line.add(steps[chosen], wall_times[chosen], values[chosen])
        else:  # without copies
            self.live.add(steps, wall_times, values)
        self._position = self._series = series
        self.version += 1
        self._states = []

    def _update_from_event_files(self, run: EventFileRun) -> None:
        self._series = None
        position = [(file, file.log.generation, file.log.offset) for file in run.files]
        if position == self._position:
            return
        if not self._append(run):
            self._reload(run)
        self._position = position
        self.version += 1

    @property
    def first_wall_time(self) -> float:
        """The origin of relative time: the wall time of the first point, orphaned or not."""
        return float(np.fmin(self.live.first_wall_time, self.orphaned.first_wall_time))

    @property
    def held_bytes(self) -> int:
        """Memory in use."""
        return self.live.held_bytes + self.orphaned.held_bytes

    def _reload(self, run: EventFileRun) -> None:
        states = self._file_states(run)
        series = run.series(self.tag, orphans=True)
        self.live, self.orphaned = Line(), Line()
        if series.orphaned.any():
            for line, chosen in ((self.live, ~series.orphaned), (self.orphaned, series.orphaned)):
                line.add(series.steps[chosen], series.wall_times[chosen], series.values[chosen])
        else:
            self.live.add(series.steps, series.wall_times, series.values)
        # A file may have grown between the two reads; then the next update reloads everything.
        self._states = states if sum(state.points for state in states) == len(series) else []

    def _file_states(self, run: EventFileRun) -> list[_FileState]:
        """The state of each file for this tag; empty if states cannot show which points are orphaned."""
        info = run.info(self.tag)
        if info is None or any(kinds.kind_of(field, info.plugin) == kinds.SCALAR for field in info.fields):
            return []  # some points must be decoded from spans
        if len(run.files) > 1 and any(file.log.unversioned for file in run.files):
            return []  # steps that go back in one file then orphan points of other files
        return [self._file_state(file) for file in run.files]

    def _file_state(self, file: EventFile) -> _FileState:
        generation, restarts = file.log.generation, len(file.log.restarts())
        entry = file.entry(self.tag)
        if entry is None:
            return _FileState(file, generation, 0, restarts, (restarts, []))
        cuts = file.log.point_columns(entry.index, entry.points)[-1]
        return _FileState(file, generation, entry.points, restarts, cuts)

    def _append(self, run: EventFileRun) -> bool:
        """Add new points at the end. Returns False, without a change, if anything else changed too."""
        before, now = self._states, self._file_states(run)
        if not before or len(now) < len(before) or not all(map(_has_same_past, before, now)):
            return False
        starts = [state.points for state in before] + [0] * (len(now) - len(before))
        grown = [i for i, state in enumerate(now) if state.points > starts[i]]
        if any(state.restarts for state in now[len(before) :]) or len(grown) > 1:
            return False
        for i in grown:
            state = now[i]
            later = now[i + 1 :]
            if state.cuts[0] != state.restarts or any(after.points or after.restarts for after in later):
                return False
            if not starts[i] and state.cuts[1]:
                return False  # the new points are already orphaned
            entry = state.file.entry(self.tag)
            if entry is None:
                return False
            steps, wall_times, values, cuts = state.file.log.point_columns(entry.index, starts[i])
            if (state.file.log.generation, cuts) != (state.generation, state.cuts):
                return False
            n = state.points - starts[i]  # a loading thread may have added more in the meantime
            self.live.add(
                np.frombuffer(steps, np.int64)[:n],
                np.frombuffer(wall_times, np.float64)[:n],
                np.frombuffer(values, np.float64)[:n],
            )
        self._states = now
        return True


def _begins_with(series: Series, before: Series) -> bool:
    """Whether the first points of a series are the points it had before."""
    n = len(before)
    return len(series) >= n and all(
        np.array_equal(now[:n], then, equal_nan=now.dtype.kind == "f")
        for now, then in (
            (series.steps, before.steps),
            (series.wall_times, before.wall_times),
            (series.values, before.values),
            (series.orphaned, before.orphaned),
        )
    )


def _has_same_past(before: _FileState, now: _FileState) -> bool:
    """Whether the file's earlier points are the same, and orphaned or not as before."""
    same = (before.file, before.generation, before.restarts) == (now.file, now.generation, now.restarts)
    return same and (not before.points or before.cuts == now.cuts) and before.points <= now.points
