"""A log: every run below one or more log directories, loaded and kept up to date."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulseboard.core.errors import LogNotFound, RunNotFound
from pulseboard.core.note import Note
from pulseboard.core.table import Table
from pulseboard.files import kinds
from pulseboard.read import discover
from pulseboard.read.cache import Cache
from pulseboard.read.discover import FoundFile, Identity, Root
from pulseboard.read.load import Progress, load_files
from pulseboard.read.readers.event_file import EventFile
from pulseboard.read.run import Run
from pulseboard.read.standing import Standing, newest_first
from pulseboard.read.table import long_table
from pulseboard.read.tree import FoundRun, Tree

Place = tuple[int, str]
"""The number of a root, and a directory there that has runs."""


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

    def __init__(self, roots: Iterable[Root], *, cache: Cache | None = None) -> None:
        self.roots = tuple(roots)
        self._cache = cache
        self._trees = [Tree(root) for root in dict.fromkeys(self.roots)]
        self._trees_at: dict[str, list[int]] = {}  # by the path of their root
        for number, tree in enumerate(self._trees):
            self._trees_at.setdefault(tree.root.path, []).append(number)
        self._found: dict[Place, tuple[FoundRun, ...]] = {}
        self._claims: dict[str, tuple[Place, ...]] = {}  # by name: of several, the last has it
        # By identity, not by path: a renamed file keeps its columns, and a run that is reached by two
        # links is held once.
        self._files: dict[Identity, EventFile] = {}
        self._looks: dict[Identity, tuple[tuple[Place, FoundFile], ...]] = {}  # the last at each of its paths
        self._standing = Standing({})
        # What is not taken up yet: an interrupt leaves it for the next time. Dictionaries, since a set has no
        # order, and ten thousand runs that were made one after the other are gone over faster that way.
        self._touched: dict[Identity, None] = {}
        self._loaded: dict[Identity, None] = {}
        self._unsettled: dict[str, None] = {}  # names of runs
        self._refreshing = threading.Lock()

    # ---- the mapping

    def __getitem__(self, name: str) -> Run:
        run = self._standing.find(name)
        if run is None:
            raise RunNotFound(name, known=list(self))
        return run

    def __iter__(self) -> Iterator[str]:
        return iter(self._standing.order())

    def __len__(self) -> int:
        return len(self._standing.runs)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._standing.find(name) is not None

    def __repr__(self) -> str:
        where = ", ".join(root.path for root in self.roots)
        return f"Log({where!r}, {len(self)} runs)"

    def notes(self) -> list[Note]:
        """What is wrong anywhere in the log: directories left out, files damaged."""
        left_out = [note for tree in self._trees for note in tree.notes()]
        return left_out + [note for run in self.values() for note in run.notes()]

    def columns(self) -> dict[str, Any]:
        """One long table of all scalars of all runs: `run`, `tag`, `step`, `wall_time`, `value`."""
        parts = (((name, tag), run.series(tag)) for name, run in self.items() for tag in run.tags(kinds.SCALAR))
        return long_table(parts, labels=("run", "tag"))

    # ---- keeping up

    def refresh(self, *, progress: Progress | None = None) -> Changes:
        """Look everywhere for new runs and new bytes."""
        with self._refreshing:
            for tree in self._trees:
                tree.look_everywhere()
            return self._take_up(range(len(self._trees)), progress)

    def poll(self, paths: Iterable[str] | None = None) -> Changes:
        """Look where something has changed: at the given paths, or where the file system's times say so.

        With paths, the cost is that of the directories they lie in, however many runs there are.
        """
        with self._refreshing:
            if paths is not None:
                told = self._by_tree(paths)
                for number, below in told.items():
                    self._trees[number].look_where(below)
                return self._take_up(told, None)
            for tree in self._trees:
                tree.look_around()
            return self._take_up(range(len(self._trees)), None)

    def _by_tree(self, paths: Iterable[str]) -> dict[int, list[str]]:
        told: dict[int, list[str]] = {}
        for path in paths:
            for at in discover.at_and_above(path):
                for number in self._trees_at.get(at, ()):
                    told.setdefault(number, []).append(path)
        return told

    def follow(self, *, every_secs: float = 5.0, stop: threading.Event | None = None) -> Iterator[Changes]:
        """Wait for changes and yield them as they come, until `stop` is set.

        File-system events tell at once; where they do not work, the directories are looked at every
        `every_secs`, or less often where that would cost more than a fiftieth of a core.
        """
        from pulseboard.read.follow import follow

        return follow(self, every_secs=every_secs, stop=stop or threading.Event())

    def linked_directories(self) -> list[str]:
        """The directories that were reached by a link."""
        return [link for tree in self._trees for links in tree.links.values() for link in links]

    def _take_up(self, numbers: Iterable[int], progress: Progress | None) -> Changes:
        """Load what the looks at some trees found to be new or changed, and arrange the runs that it belongs to."""
        for number in numbers:
            tree = self._trees[number]
            for home, runs in tree.changed_runs():
                self._put((number, home), runs)
            tree.changed.clear()
        self._load(progress)
        changes = self._arrange()
        self._touched.clear()
        self._loaded.clear()
        self._unsettled.clear()
        return changes

    def _put(self, place: Place, runs: tuple[FoundRun, ...]) -> None:
        """A place has these runs now: note who claims which name, and which paths each file has."""
        before = self._found.get(place, ())
        if runs == before:
            return
        for run in before:
            self._unsettled[run.name] = None
            self._claims[run.name] = tuple(at for at in self._claims[run.name] if at != place)
            for file in run.all_files():
                self._touched[file.identity] = None
                self._looks[file.identity] = tuple(look for look in self._looks[file.identity] if look[0] != place)
        for run in runs:
            self._unsettled[run.name] = None
            self._claims[run.name] = (*self._claims.get(run.name, ()), place)
            for file in run.all_files():
                self._touched[file.identity] = None
                self._looks[file.identity] = (*self._looks.get(file.identity, ()), (place, file))
        self._found[place] = runs
        if not runs:
            del self._found[place]

    def _load(self, progress: Progress | None) -> None:
        """Read what is new in the files that were touched, those changed last first."""
        stale: list[FoundFile] = []
        for identity in self._touched:
            looks = self._looks.get(identity)
            if not looks:  # no path leads to it any more
                self._looks.pop(identity, None)
                self._files.pop(identity, None)
                continue
            (_, newest), path = looks[0], looks[0][1].path
            if len(looks) > 1:  # the looks at some of its paths may have been longer ago
                newest = max((look for _, look in looks), key=lambda look: (look.mtime_ns, look.size))
                path = min((place, look.path) for place, look in looks)[1]
            file = self._files.get(identity)
            if file is None:
                file = self._files[identity] = EventFile(path)
                if self._cache is not None:
                    self._cache.restore(file, newest)
            file.path = path
            if file.seen is None or (file.seen.size, file.seen.mtime_ns) != (newest.size, newest.mtime_ns):
                stale.append(newest)
        stale.sort(key=lambda look: -look.mtime_ns)
        load_files([self._files[look.identity] for look in stale], progress=progress)
        for look in stale:  # only now: what an interrupt kept from loading must stay stale
            self._files[look.identity].seen = look
            self._loaded[look.identity] = None
            for place, _ in self._looks[look.identity]:
                self._unsettled.update(dict.fromkeys(run.name for run in self._found[place]))
        if self._cache is not None and stale:
            self._cache.loaded([self._files[look.identity] for look in stale])

    def _arrange(self) -> Changes:
        """Bring the runs that are not settled up to date."""
        before = self._standing.runs
        new: dict[str, Run] = {}
        gone: list[Run] = []
        grown: list[Run] = []
        same_names = True
        for name in self._unsettled:
            run, places = before.get(name), self._claims.get(name)
            if not places:
                self._claims.pop(name, None)
                gone += [run] if run else []
                continue
            at = next(found for found in self._found[max(places)] if found.name == name)
            if run is None or run.directory != at.directory or run.aliases != at.aliases:
                new[name] = Run(name, aliases=at.aliases, directory=at.directory)
                self._give_files(new[name], at)
                grown += [new[name]] if run else []  # the name has gone over to another directory
            elif self._has_news(run, at):
                ranks = run.ranks
                self._give_files(run, at)
                same_names = same_names and ranks == run.ranks
                grown.append(run)
        if new or gone:
            runs = before | new
            for run in gone:
                del runs[run.name]
            self._standing = Standing(runs)
        elif grown:
            self._standing = self._standing.after_growth() if same_names else Standing(before)
        added = [run for name, run in new.items() if name not in before]
        return Changes(*(tuple(newest_first(runs)) for runs in (added, gone, grown)))

    def _has_news(self, run: Run, found_run: FoundRun) -> bool:
        found = [file.identity for file in found_run.all_files()]
        files = [file for rank in run.ranks.values() for file in rank.files]
        return files != [self._files[at] for at in found] or any(at in self._loaded for at in found)

    def _give_files(self, run: Run, at: FoundRun) -> None:
        run.files = [self._files[file.identity] for file in at.files]
        run.settle()
        ranks = {0: run}
        for number, found in at.ranks:
            rank = run.ranks.get(number)
            if rank is None or rank.directory != found.directory:
                rank = Run(found.name, aliases=found.aliases, directory=found.directory)
            self._give_files(rank, found)
            ranks[number] = rank
        run.ranks = ranks


def read(
    *paths: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None, cache: Cache | None = None
) -> Log:
    """Read every run below the given log directories: run name -> run.

    A path is a log directory, an event file, or a `name:path` pair that puts its runs below `name`.
    `progress(done, total)` is called with files while they load. `cache` may know files from before.
    """
    if not paths:
        raise LogNotFound("(none)", why="no path was given")
    log = Log(discover.roots_of(paths), cache=cache)
    log.refresh(progress=progress)
    return log
