"""A log: every run below one or more log directories, loaded and kept up to date."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pulseboard.core.errors import LogNotFound, RunNotFound
from pulseboard.core.note import Note
from pulseboard.core.table import Table
from pulseboard.files import kinds
from pulseboard.read import discover
from pulseboard.read.discover import FoundDirectory, FoundFile, FoundRun, Root
from pulseboard.read.load import Progress, load_files
from pulseboard.read.readers.event_file import EventFile
from pulseboard.read.run import Run
from pulseboard.read.table import long_table


@dataclass(frozen=True, slots=True)
class Changes:
    """What a refresh found: runs by name."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    grown: tuple[str, ...] = ()  # new points, or a file replaced, cut or gone

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.grown)


class Log(Mapping[str, Run], Table):
    """Runs by name, the most recently active first. Lookups take aliases too.

    `refresh` picks up what is new; it may be called from one thread while others read.
    """

    def __init__(self, roots: Iterable[Root]) -> None:
        self.roots = tuple(roots)
        self._directories: dict[Root, dict[str, FoundDirectory]] = {root: {} for root in self.roots}
        self._files: dict[tuple[int, int], EventFile] = {}
        self._runs: dict[str, Run] = {}
        self._names: dict[str, Run] = {}  # aliases, and the ranks of runs
        self._walk_notes: dict[str, Note] = {}
        self._refreshing = threading.Lock()

    # ---- the mapping

    def __getitem__(self, name: str) -> Run:
        run = self._runs.get(name, self._names.get(name))
        if run is None:
            raise RunNotFound(name, known=self._runs)
        return run

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, name: object) -> bool:
        return name in self._runs or name in self._names

    def __repr__(self) -> str:
        where = ", ".join(root.path for root in self.roots)
        return f"Log({where!r}, {len(self)} runs)"

    def notes(self) -> list[Note]:
        """What is wrong anywhere in the log: directories left out, files damaged."""
        return list(self._walk_notes.values()) + [note for run in self._runs.values() for note in run.notes()]

    def columns(self) -> dict[str, Any]:
        """One long table of all scalars of all runs: `run`, `tag`, `step`, `wall_time`, `value`."""
        parts = (((name, tag), run.series(tag)) for name, run in self.items() for tag in run.tags(kinds.SCALAR))
        return long_table(parts, labels=("run", "tag"))

    def _give_files(self, run: Run, found: FoundRun) -> None:
        run.files = [self._files[file.identity] for file in found.files]
        run.settle()
        run.ranks = {0: run}
        for number, at in found.ranks:
            run.ranks[number] = Run(at.name, aliases=at.aliases, directory=at.directory)
            run.ranks[number].files = [self._files[file.identity] for file in at.files]
            run.ranks[number].settle()

    def _files_of(self, run: Run) -> list[EventFile]:
        return [file for rank in run.ranks.values() for file in rank.files]

    # ---- keeping up

    def refresh(self, *, progress: Progress | None = None) -> Changes:
        """Look everywhere for new runs and new bytes."""
        with self._refreshing:
            self._walk_notes.clear()
            for root in self.roots:
                self._directories[root].clear()
                if os.path.isdir(root.path):
                    self._walk(root, root.path)
            return self._take_up(progress)

    def poll(self, paths: Iterable[str] | None = None) -> Changes:
        """Look where something has changed: at the given paths, or where the file system's times say so."""
        with self._refreshing:
            paths = None if paths is None else list(paths)
            for root in self.roots:
                known = self._directories[root]
                if not known and os.path.isdir(root.path):
                    self._walk(root, root.path)
                    continue
                if paths is None:
                    stale = [path for path, directory in known.items() if _stale(directory)]
                else:
                    stale = list({at for path in paths if (at := _nearest(known, path))})
                for path in stale:
                    self._look_again(root, path)
                if paths is None:
                    for directory in known.values():
                        directory.files = [found for file in directory.files if (found := _look_at(file))]
            return self._take_up(None)

    def follow(self, *, every_secs: float = 5.0, stop: threading.Event | None = None) -> Iterator[Changes]:
        """Wait for changes and yield them as they come, until `stop` is set.

        File-system events tell at once; where they do not work, the directories are looked at every
        `every_secs`, or less often where that would cost more than a fiftieth of a core.
        """
        from pulseboard.read.follow import follow

        return follow(self, every_secs=every_secs, stop=stop or threading.Event())

    def linked_directories(self) -> list[str]:
        """The directories that were reached by a link."""
        return [link for known in self._directories.values() for at in known.values() for link in at.links]

    def _walk(self, root: Root, top: str) -> None:
        for directory in discover.walk(top, root=root, note=self._note):
            self._directories[root][directory.path] = directory
            self._walk_notes.pop(directory.path, None)

    def _look_again(self, root: Root, path: str) -> None:
        known = self._directories[root]
        before = known.pop(path, None)
        self._walk_notes.pop(path, None)
        found = discover.look(path, root=root, note=self._note)
        if found is not None:
            known[path] = found
        now = set(found.below) if found else set()
        for gone in set(before.below if before else ()) - now:
            self._walk_notes.pop(gone, None)
            for below in [p for p in known if p == gone or p.startswith(gone + os.sep)]:
                del known[below]
                self._walk_notes.pop(below, None)
        for new in sorted(now - known.keys()):
            self._walk(root, new)

    def _note(self, note: Note) -> None:
        self._walk_notes[note.path] = note

    def _found_runs(self) -> dict[str, FoundRun]:
        runs: dict[str, FoundRun] = {}
        for root in self.roots:
            if os.path.isdir(root.path):
                found = discover.runs_in(root, self._directories[root].values())
            elif os.path.isfile(root.path):
                found = iter([discover.single_file(root)])
            else:
                continue
            for run in found:
                runs[run.name] = run
        return runs

    def _take_up(self, progress: Progress | None) -> Changes:
        """Load what was found to be new or changed, and put the runs in their new order."""
        found = self._found_runs()
        # By identity, not by path: a renamed file keeps its columns, and a run that is reached by two
        # links is held once.
        looks: dict[tuple[int, int], FoundFile] = {}
        for run in found.values():
            for file in run.all_files():
                first = looks.setdefault(file.identity, file)
                if file.mtime_ns > first.mtime_ns:  # the look at its other path was longer ago
                    looks[file.identity] = replace(file, path=first.path)
        files: dict[tuple[int, int], EventFile] = {}
        stale: dict[tuple[int, int], FoundFile] = {}
        for identity, file in looks.items():
            known = self._files.get(identity) or EventFile(file.path)
            known.path = file.path
            files[identity] = known
            if known.seen is None or not _same_content(known.seen, file):
                stale[identity] = file
        self._files = files
        newest_first = sorted(stale.values(), key=lambda file: -file.mtime_ns)
        load_files([files[file.identity] for file in newest_first], progress=progress)
        for file in newest_first:  # only now: what an interrupt kept from loading must stay stale
            files[file.identity].seen = file
        return self._arrange(found, set(stale))

    def _arrange(self, found: dict[str, FoundRun], loaded: set[tuple[int, int]]) -> Changes:
        before = self._runs
        runs: list[Run] = []
        grown: list[str] = []
        for name, at in found.items():
            files = [self._files[file.identity] for file in at.all_files()]
            run = before.get(name)
            if run is None or run.directory != at.directory:
                if run is not None:  # the name has gone over to another directory
                    grown.append(name)
                run = Run(name, aliases=at.aliases, directory=at.directory)
                self._give_files(run, at)
            elif self._files_of(run) != files or any(file.identity in loaded for file in at.all_files()):
                self._give_files(run, at)
                grown.append(name)
            runs.append(run)
        runs.sort(key=lambda run: (-run.last_active, run.name))
        self._runs = {run.name: run for run in runs}
        self._names = {alias: run for run in runs for alias in run.aliases}
        self._names |= {rank.name: rank for run in runs for rank in run.ranks.values() if rank is not run}
        added = tuple(name for name in self._runs if name not in before)
        removed = tuple(name for name in before if name not in self._runs)
        return Changes(added, removed, tuple(grown))


def read(*paths: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None) -> Log:
    """Read every run below the given log directories: run name -> run.

    A path is a log directory, an event file, or a `name:path` pair that puts its runs below `name`.
    `progress(done, total)` is called with files while they load.
    """
    if not paths:
        raise LogNotFound("(none)", why="no path was given")
    log = Log(discover.roots_of(paths))
    log.refresh(progress=progress)
    return log


def _same_content(a: FoundFile, b: FoundFile) -> bool:
    return (a.size, a.mtime_ns, a.identity) == (b.size, b.mtime_ns, b.identity)


def _stale(directory: FoundDirectory) -> bool:
    try:
        return not directory.settled or os.stat(directory.path).st_mtime_ns != directory.mtime_ns
    except OSError:
        return True


def _look_at(file: FoundFile) -> FoundFile | None:
    try:
        return discover.found_file(file.path, os.stat(file.path))
    except OSError:
        return None


def _nearest(known: dict[str, FoundDirectory], path: str) -> str | None:
    """The directory at or above `path` that the log knows."""
    while path not in known:
        above = os.path.dirname(path)
        if above == path:
            return None
        path = above
    return path
