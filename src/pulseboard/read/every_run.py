"""Every run at a path, whatever its format: those of event files, and those that other programs logged otherwise."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pulseboard.core.errors import LogNotFound, RunNotFound
from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.core.table import Table
from pulseboard.files import kinds, layout
from pulseboard.read import discover
from pulseboard.read.discover import Root
from pulseboard.read.foreign import ForeignRun, foreign_runs
from pulseboard.read.load import Progress
from pulseboard.read.log import Log
from pulseboard.read.run import Run
from pulseboard.read.table import long_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

AnyRun = Run | ForeignRun

# Of two logs of one training, one may have been written a little further, and a resumed job repeats steps.
_SAME_FRACTION = 0.5
# Two runs may agree in fewer points by chance, such as an accuracy of 1 at step 0; then only the same directory tells.
_TELLING_POINTS = 4


class EveryRun(Mapping[str, AnyRun], Table):
    """Runs by name, the most recently active first. Lookups take aliases too. As of when they were read."""

    def __init__(self, roots: Iterable[Root], *, progress: Progress | None = None) -> None:
        self.roots = tuple(roots)
        self._notes: list[Note] = []
        foreign = {root: foreign_runs(root.path, notes=self._notes) for root in self.roots if not _is_event_file(root)}
        # A file that no reader takes may be an event file under another name; a directory may hold both.
        self.log = Log(root for root in self.roots if os.path.isdir(root.path) or not foreign.get(root))
        self.log.refresh(progress=progress)
        self._runs: dict[str, AnyRun] = dict(self.log)
        beside = _Neighbours(self.log.values())
        for root, runs in foreign.items():
            self._take(root, runs, beside)
        for root in self.roots:
            self._refuse_unreadable(root, foreign.get(root, {}))
        newest_first = sorted(self._runs.values(), key=lambda run: (-run.last_active, run.name))
        self._runs = {run.name: run for run in newest_first}
        self._aliases = {alias: run for run in newest_first for alias in run.aliases if alias not in self._runs}

    def _take(self, root: Root, runs: dict[str, ForeignRun], beside: _Neighbours) -> None:
        for name, run in runs.items():
            if os.path.isdir(root.path) and beside.hold(run):
                continue
            run.name = name if root.name is None else f"{root.name}/{name}"
            if root.name and name == ".":
                run.aliases = (root.name,)
            if run.name in self._runs or run.name in self.log:
                run.name = f"{run.name}/{os.path.basename(run.path)}"
            while run.name in self._runs:
                run.name += "'"
            self._runs[run.name] = run

    def _refuse_unreadable(self, root: Root, runs: dict[str, ForeignRun]) -> None:
        """A file that was given by itself, and that nothing can be read from, is a mistake of the call."""
        if runs or not os.path.isfile(root.path) or _is_event_file(root) or not os.path.getsize(root.path):
            return
        if any(note.path == root.path and note.level == "unreadable" for note in self.log.notes()):
            raise LogNotFound(root.path, why="this file is neither an event file nor of another format that is known")

    # ---- the mapping

    def __getitem__(self, name: str) -> AnyRun:
        run = self._runs.get(name, self._aliases.get(name))
        if run is not None:
            return run
        if name in self.log:  # a rank of a run
            return self.log[name]
        raise RunNotFound(name, known=self._runs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, name: object) -> bool:
        return name in self._runs or name in self._aliases or name in self.log

    def __repr__(self) -> str:
        where = ", ".join(root.path for root in self.roots)
        return f"EveryRun({where!r}, {len(self)} runs)"

    def foreign(self) -> list[ForeignRun]:
        """Those that are not of event files."""
        return [run for run in self._runs.values() if isinstance(run, ForeignRun)]

    def notes(self) -> list[Note]:
        """What is wrong anywhere: directories left out, files damaged."""
        found = self.log.notes()
        told = {note.path for note in found}
        found += [note for note in self._notes if note.path not in told]
        return found + [note for run in self.foreign() for note in run.notes()]

    def columns(self) -> dict[str, Any]:
        """One long table of all scalars of all runs: `run`, `tag`, `step`, `wall_time`, `value`."""
        parts = (((name, tag), run.series(tag)) for name, run in self.items() for tag in run.tags(kinds.SCALAR))
        return long_table(parts, labels=("run", "tag"))


def any_runs(*paths: str | os.PathLike[str], progress: Progress | None = None) -> EveryRun:
    """Every run at the given paths, of event files and of every other format that is known: run name -> run.

    A path is a directory, a file, or a `name:path` pair. A log of another format whose tags and points event
    files near it hold too is the same run, and is left out.
    """
    if not paths:
        raise LogNotFound("(none)", why="no path was given")
    return EveryRun(discover.roots_of(paths), progress=progress)


def _is_event_file(root: Root) -> bool:
    return layout.is_event_file(os.path.basename(root.path)) and os.path.isfile(root.path)


class _Neighbours:
    """The runs of event files by the directories above them, to find the one that a log of another format copies."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._below: dict[str, list[tuple[Run, set[str]]]] = {}
        for run in runs:
            entry = (run, set(run.tags(kinds.SCALAR)))
            above = pathlib.PurePath(run.directory)
            for directory in (above, *above.parents):
                self._below.setdefault(str(directory), []).append(entry)

    def hold(self, run: ForeignRun) -> bool:
        """Whether one of them has the run's tags and points.

        Those in the training's directory and below it are looked at first, then those beside it: the Trainer's
        checkpoints lie in `results/` where its event files lie in `logs/`.
        """
        tags = set(run.tags(kinds.SCALAR))
        near = [*self._below.get(run.place, ()), *self._below.get(os.path.dirname(run.place), ())]
        return bool(tags) and any(
            tags <= known
            and (run.points >= _TELLING_POINTS or events.directory == run.place)
            and _has_points_of(run, events)
            for events, known in near
        )


def _has_points_of(run: ForeignRun, events: Run) -> bool:
    """Whether event files have most points of every tag.

    Of every one, since two trainings of one schedule have the same epochs and learning rates.
    """
    import numpy as np

    for tag in run.tags(kinds.SCALAR):
        there = np.isin(_keys(run.series(tag)), _keys(events.series(tag, orphans=True)))
        if there.mean() < _SAME_FRACTION:
            return False
    return True


def _keys(series: Series) -> NDArray[Any]:
    """Step and value of each point as one number to compare; values as event files keep them."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        values = series.values.astype(np.float32)
    values[np.isnan(values)] = np.nan  # of the many bit patterns of NaN, one
    bits = values.view(np.uint32).astype(np.uint64)
    return series.steps.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + bits
