"""The directories below one log directory, as last scanned, and the runs they contain.

Each scan records which directories changed, and only their runs are rebuilt: a poll that is given the changed
paths costs the same with ten thousand runs as with one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pulseboard.core.note import Note
from pulseboard.read.discovery import scan
from pulseboard.read.discovery.log_directory import LogDirectory, path_and_parents, run_name
from pulseboard.read.discovery.scan import FoundDirectory, FoundFile
from pulseboard.rundir import layout

_EVENTS_SUFFIX = os.sep + layout.EVENTS_DIRECTORY
_RANKS_SUFFIX = os.sep + layout.RANKS_DIRECTORY
# From 1: rank 0 writes the run itself.
_RANK = re.compile("[1-9][0-9]*")


class FoundRun(NamedTuple):
    """A run and its event files, in the order they are read."""

    name: str
    aliases: tuple[str, ...]
    directory: str
    files: tuple[FoundFile, ...]
    ranks: tuple[tuple[int, FoundRun], ...] = ()  # what its other ranks wrote

    def all_files(self) -> Iterator[FoundFile]:
        """Its own files and those of its other ranks."""
        yield from self.files
        for _, rank in self.ranks:
            yield from rank.files


class Tree:
    """The directories below one log directory. If that is a single event file, the tree is just this file."""

    def __init__(self, log_directory: LogDirectory) -> None:
        self.log_directory = log_directory
        self.links: dict[str, tuple[str, ...]] = {}  # by directory: the linked directories in it
        self.changed: dict[str, None] = {}  # the directories whose runs may have changed
        self._directories: dict[str, FoundDirectory] = {}
        self._notes: dict[str, dict[str, Note]] = {}  # by directory, then by the path in it that was left out

    # ---- scanning

    def notes(self) -> list[Note]:
        """What was left out, and why."""
        return [note for notes in list(self._notes.values()) for note in list(notes.values())]

    def scan_all(self) -> None:
        """Scan every directory, whatever its modification time."""
        notes: list[Note] = []
        found = list(scan.walk(self.log_directory.path, within=self.log_directory, note=notes.append))
        self.changed |= dict.fromkeys(self._directories)
        self._directories, self.links, self._notes = {}, {}, {}
        for note in notes:
            self._add_note(note)
        for directory in found:
            self._keep(directory)

    def scan_changed(self) -> None:
        """Stat every directory and file, and scan the directories that changed."""
        if not self._directories:
            self._walk(self.log_directory.path)
            return
        for path, directory in list(self._directories.items()):
            if self._directories.get(path) is not directory:
                continue  # removed, or scanned a moment ago
            if scan.may_have_changed(directory):
                self._rescan(path)
            else:
                self._stat_files_of(directory)

    def scan_at(self, paths: Iterable[str]) -> None:
        """Scan the directories at or above these paths, and no others."""
        if not self._directories:
            self._walk(self.log_directory.path)
            return
        nearest = {next((at for at in path_and_parents(path) if at in self._directories), "") for path in paths}
        # A directory that was replaced by a link: the directory that holds it decides whether the link is followed.
        nearest |= {
            parent for at in nearest if (parent := os.path.dirname(at)) in self._directories and os.path.islink(at)
        }
        for path in sorted(nearest):
            if path in self._directories:
                self._rescan(path)

    def _walk(self, top: str) -> None:
        self._notes.get(os.path.dirname(top), {}).pop(top, None)
        for directory in scan.walk(top, within=self.log_directory, note=self._add_note):
            self._keep(directory)

    def _add_note(self, note: Note) -> None:
        self._notes.setdefault(os.path.dirname(note.path), {})[note.path] = note

    def _keep(self, found: FoundDirectory) -> None:
        self._directories[found.path] = found
        self.changed[found.path] = None
        if found.links:
            self.links[found.path] = found.links
        else:
            self.links.pop(found.path, None)

    def _rescan(self, path: str) -> None:
        before = self._directories[path]
        self._notes.pop(path, None)
        found = scan.scan(path, within=self.log_directory, note=self._add_note)
        if found is None or found.identity != before.identity:
            self._remove(path)
            if found is not None:
                self._walk(path)
            elif parent := self._directories.get(os.path.dirname(path)):
                parent.mtime_conclusive = False  # a link that now leads nowhere does not change its mtime
            return
        self._keep(found)
        for gone in set(before.subdirectories).difference(found.subdirectories):
            self._remove(gone)
        for new in found.subdirectories:
            if new not in self._directories:
                self._walk(new)

    def _remove(self, top: str) -> None:
        """Forget a directory that is gone, and everything below it."""
        paths = [top]
        while paths:
            path = paths.pop()
            directory = self._directories.pop(path, None)
            if directory is None:
                continue
            self.links.pop(path, None)
            self._notes.pop(path, None)
            self.changed[path] = None
            paths += directory.subdirectories

    def _stat_files_of(self, directory: FoundDirectory) -> None:
        before = (*directory.files, *directory.candidates)
        if all(scan.stat_file(file.path) == file for file in before):
            return
        files, candidates = (
            tuple(now for file in of if (now := scan.stat_file(file.path)))
            for of in (directory.files, directory.candidates)
        )
        directory.mtime_conclusive = directory.mtime_conclusive and len(files) + len(candidates) == len(before)
        directory.files, directory.candidates = files, candidates
        self.changed[directory.path] = None

    # ---- logs of other formats

    def candidates_in(self, path: str) -> tuple[FoundFile, ...]:
        """The files in a directory that may be logs of other formats, or part of one."""
        directory = self._directories.get(path)
        return () if directory is None else directory.candidates

    # ---- runs

    def changed_runs(self) -> Iterator[tuple[str, tuple[FoundRun, ...]]]:
        """Each owner that a change may have affected, with its runs. See `_owner_of`."""
        owners = dict(self.changed)
        for path in self.changed:
            owners.update(dict.fromkeys(self._owned_directories(path)))
            if recorded := _recorded_run_of(path):
                owners[recorded] = None
        for owner in owners:
            yield owner, self._runs_of(owner)

    def _owner_of(self, path: str) -> str:
        """The directory whose run the event files in `path` belong to: the one with the run.json, or `path` itself."""
        recorded = self._directories.get(_recorded_run_of(path))
        return recorded.path if recorded is not None and recorded.has_run_file else path

    def _owned_directories(self, owner: str) -> list[str]:
        """The directories whose event files belong to `owner` if that is a recorded run."""
        out = [owner + _EVENTS_SUFFIX] if owner + _EVENTS_SUFFIX in self._directories else []
        if ranks := self._directories.get(owner + _RANKS_SUFFIX):
            out += [path for path in ranks.subdirectories if _recorded_run_of(path) and path in self._directories]
        return out

    def _runs_of(self, owner: str) -> tuple[FoundRun, ...]:
        """The runs of one owner, named as TensorBoard names them.

        The event files of a run that Pulseboard recorded are some levels below its run.json. Such a run gets
        the short name of the directory with the run.json, and its TensorBoard name becomes an alias. What its
        other ranks wrote is below `ranks/`, and belongs to it.
        """
        top = self._directories.get(owner)
        own = self._run_in(top) if top is not None and top.is_run and self._owner_of(owner) == owner else None
        if top is None or not top.has_run_file:
            return (own,) if own else ()
        runs: list[FoundRun] = []
        ranks: list[tuple[int, FoundRun]] = []
        for path in self._owned_directories(owner):
            directory = self._directories[path]
            if not directory.is_run:
                continue
            run = self._run_in(directory)
            if not path.endswith(_EVENTS_SUFFIX):
                ranks.append((int(os.path.basename(path)), run))
            elif top.is_run:  # event files next to the run.json are a run already, and have the short name
                runs.append(run)
            else:
                own = run._replace(name=self._name_of(owner), aliases=(*run.aliases, run.name))
        if own is None:  # rank 0 wrote nothing: the other ranks are ordinary runs
            return (*runs, *(run for _, run in ranks))
        return (own._replace(ranks=tuple(sorted(ranks, key=lambda rank: rank[0]))), *runs)

    def _run_in(self, directory: FoundDirectory) -> FoundRun:
        if directory.is_file:
            name = self._prefixed(layout.original_name(os.path.basename(directory.path)))
            return FoundRun(name, (), os.path.dirname(directory.path) or ".", directory.files)
        name = self._name_of(directory.path)
        alias = self.log_directory.name if directory.path == self.log_directory.path else None
        return FoundRun(name, (alias,) if alias else (), directory.path, directory.files)

    def _name_of(self, path: str) -> str:
        return self._prefixed(path.removeprefix(self.log_directory.path).lstrip(os.sep) or ".")

    def _prefixed(self, relative_path: str) -> str:
        name = run_name(relative_path)
        return f"{self.log_directory.name}/{name}" if self.log_directory.name else name


def _recorded_run_of(path: str) -> str:
    """The directory of the recorded run that would keep event files in `path`; empty if `path` is not such a place."""
    if path.endswith(_EVENTS_SUFFIX):
        return path.removesuffix(_EVENTS_SUFFIX)
    parent, _, last = path.rpartition(os.sep)
    if parent.endswith(_RANKS_SUFFIX) and _RANK.fullmatch(last):
        return parent.removesuffix(_RANKS_SUFFIX)
    return ""
