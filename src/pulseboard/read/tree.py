"""A log directory as it was last seen, and the runs that its directories make.

Looks note which directories changed, and only those are made into runs again: a poll that is told
where to look costs the same among ten thousand runs as among one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pulseboard.core.note import Note
from pulseboard.files import layout
from pulseboard.read import discover
from pulseboard.read.discover import FoundDirectory, FoundFile, Root

_BELOW_EVENTS = os.sep + layout.EVENTS_DIRECTORY
_BELOW_RANKS = os.sep + layout.RANKS_DIRECTORY
# From 1 on: rank 0 writes the run itself.
_RANK = re.compile("[1-9][0-9]*")


class FoundRun(NamedTuple):
    """A run and its event files, in the order they are read."""

    name: str
    aliases: tuple[str, ...]
    directory: str
    files: tuple[FoundFile, ...]
    ranks: tuple[tuple[int, FoundRun], ...] = ()  # what its other ranks wrote

    def all_files(self) -> Iterator[FoundFile]:
        """Its own files and those of its ranks."""
        yield from self.files
        for _, rank in self.ranks:
            yield from rank.files


class Tree:
    """The directories below one root. A root that is an event file is the only one of its tree."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.links: dict[str, tuple[str, ...]] = {}  # by directory: the linked directories in it
        self.changed: dict[str, None] = {}  # the directories whose runs may be others than before
        self._directories: dict[str, FoundDirectory] = {}
        self._notes: dict[str, dict[str, Note]] = {}  # by directory, then by the path in it that was left out

    # ---- looking

    def notes(self) -> list[Note]:
        """What was left out, and why."""
        return [note for notes in list(self._notes.values()) for note in list(notes.values())]

    def look_everywhere(self) -> None:
        """Into every directory, whatever the file system's times say."""
        notes: list[Note] = []
        found = list(discover.walk(self.root.path, root=self.root, note=notes.append))
        self.changed |= dict.fromkeys(self._directories)
        self._directories, self.links, self._notes = {}, {}, {}
        for note in notes:
            self._note(note)
        for directory in found:
            self._keep(directory)

    def look_around(self) -> None:
        """At every directory and file, and into the directories that have changed."""
        if not self._directories:
            self._walk(self.root.path)
            return
        for path, directory in list(self._directories.items()):
            if self._directories.get(path) is not directory:
                continue  # gone, or looked into just now
            if discover.is_stale(directory):
                self._look_again(path)
            else:
                self._look_at_files_of(directory)

    def look_where(self, paths: Iterable[str]) -> None:
        """Into the directories at or above these paths, and no others."""
        if not self._directories:
            self._walk(self.root.path)
            return
        nearest = {next((at for at in discover.at_and_above(path) if at in self._directories), "") for path in paths}
        for path in sorted(nearest):
            if path in self._directories:
                self._look_again(path)

    def _walk(self, top: str) -> None:
        self._notes.get(os.path.dirname(top), {}).pop(top, None)
        for directory in discover.walk(top, root=self.root, note=self._note):
            self._keep(directory)

    def _note(self, note: Note) -> None:
        self._notes.setdefault(os.path.dirname(note.path), {})[note.path] = note

    def _keep(self, found: FoundDirectory) -> None:
        self._directories[found.path] = found
        self.changed[found.path] = None
        if found.links:
            self.links[found.path] = found.links
        else:
            self.links.pop(found.path, None)

    def _look_again(self, path: str) -> None:
        before = self._directories[path]
        self._notes.pop(path, None)
        found = discover.look(path, root=self.root, note=self._note)
        if found is None or found.identity != before.identity:
            self._forget(path)
            if found is not None:
                self._walk(path)
            elif above := self._directories.get(os.path.dirname(path)):
                above.settled = False  # where a link now leads nowhere, the times do not say so
            return
        self._keep(found)
        for gone in set(before.below).difference(found.below):
            self._forget(gone)
        for new in found.below:
            if new not in self._directories:
                self._walk(new)

    def _forget(self, top: str) -> None:
        """A directory and all below it are gone."""
        paths = [top]
        while paths:
            path = paths.pop()
            directory = self._directories.pop(path, None)
            if directory is None:
                continue
            self.links.pop(path, None)
            self._notes.pop(path, None)
            self.changed[path] = None
            paths += directory.below

    def _look_at_files_of(self, directory: FoundDirectory) -> None:
        if all(discover.look_at(file.path) == file for file in directory.files):
            return
        found = tuple(now for file in directory.files if (now := discover.look_at(file.path)))
        directory.settled = directory.settled and len(found) == len(directory.files)
        directory.files = found
        self.changed[directory.path] = None

    # ---- runs

    def changed_runs(self) -> Iterator[tuple[str, tuple[FoundRun, ...]]]:
        """The runs of each home that a change may have reached, and that home. See `_home_of`."""
        homes = dict(self.changed)
        for path in self.changed:
            homes.update(dict.fromkeys(self._directories_beneath(path)))
            if top := _top_of(path):
                homes[top] = None
        for home in homes:
            yield home, self._runs_at(home)

    def _home_of(self, path: str) -> str:
        """The directory that gives the event files in `path` to a run: the one with the run.json, or `path` itself."""
        top = self._directories.get(_top_of(path))
        return top.path if top is not None and top.has_run_file else path

    def _directories_beneath(self, home: str) -> list[str]:
        """The directories whose event files go to `home` if that is a recorded run."""
        out = [home + _BELOW_EVENTS] if home + _BELOW_EVENTS in self._directories else []
        if ranks := self._directories.get(home + _BELOW_RANKS):
            out += [path for path in ranks.below if _top_of(path) and path in self._directories]
        return out

    def _runs_at(self, home: str) -> tuple[FoundRun, ...]:
        """The runs of one home, named as TensorBoard names them.

        The event files of a run that Pulseboard recorded lie some levels below its run.json; that run goes
        by the short name of the directory with the run.json, and its TensorBoard name stays an alias. What
        its ranks wrote lies below `ranks/`, and belongs to it.
        """
        top = self._directories.get(home)
        own = self._run_of(top) if top is not None and top.is_run and self._home_of(home) == home else None
        if top is None or not top.has_run_file:
            return (own,) if own else ()
        runs: list[FoundRun] = []
        ranks: list[tuple[int, FoundRun]] = []
        for path in self._directories_beneath(home):
            directory = self._directories[path]
            if not directory.is_run:
                continue
            run = self._run_of(directory)
            if not path.endswith(_BELOW_EVENTS):
                ranks.append((int(os.path.basename(path)), run))
            elif top.is_run:  # event files beside the run.json are a run already, and the short name is theirs
                runs.append(run)
            else:
                own = run._replace(name=self._name_of(home), aliases=(*run.aliases, run.name))
        if own is None:  # rank 0 wrote nothing: then the others are runs like any other
            return (*runs, *(run for _, run in ranks))
        return (own._replace(ranks=tuple(sorted(ranks, key=lambda rank: rank[0]))), *runs)

    def _run_of(self, directory: FoundDirectory) -> FoundRun:
        name = self._name_of(directory.path)
        if directory.is_file:  # named for the file
            name = self._named(layout.original_name(os.path.basename(directory.path)))
            return FoundRun(name, (), os.path.dirname(directory.path) or ".", directory.files)
        root_name = self.root.name if directory.path == self.root.path else None
        return FoundRun(name, (root_name,) if root_name else (), directory.path, directory.files)

    def _name_of(self, path: str) -> str:
        return self._named(path.removeprefix(self.root.path).lstrip(os.sep) or ".")

    def _named(self, relative: str) -> str:
        # A name is shown, exported and put into URLs, so it is text whatever bytes the directory has.
        name = os.fsencode(relative).decode("utf-8", "backslashreplace").replace(os.sep, "/")
        return f"{self.root.name}/{name}" if self.root.name else name


def _top_of(path: str) -> str:
    """Where the run.json stands if `path` is where a recorded run keeps event files; else nothing."""
    if path.endswith(_BELOW_EVENTS):
        return path.removesuffix(_BELOW_EVENTS)
    above, _, last = path.rpartition(os.sep)
    if above.endswith(_BELOW_RANKS) and _RANK.fullmatch(last):
        return above.removesuffix(_BELOW_RANKS)
    return ""
