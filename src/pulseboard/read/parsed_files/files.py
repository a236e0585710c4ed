"""All files of other formats in some log directories. Only files that changed are opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pulseboard.core.note import Note
from pulseboard.read.discovery import candidates
from pulseboard.read.discovery.log_directory import path_and_parents
from pulseboard.read.discovery.scan import FoundFile
from pulseboard.read.discovery.tree import Tree
from pulseboard.read.event_files.cache import Cache
from pulseboard.read.event_files.load import Progress
from pulseboard.rundir.regular_file import staying_within

if TYPE_CHECKING:
    # Loaded with the first file of another format: they take as long to load as a small log directory of event files.
    from pulseboard.read.parsed_files.file import ParsedFile

Place = tuple[int, str]
"""The index of a tree, and a path in it."""


class ParsedFiles:
    """The candidates of all trees. One thread uses it."""

    def __init__(self, trees: Sequence[Tree], *, cache: Cache | None = None) -> None:
        self.files: dict[Place, ParsedFile] = {}
        self._trees = trees
        self._cache = cache
        self._listed: dict[Place, tuple[FoundFile, ...]] = {}  # by directory
        self._found: dict[Place, FoundFile] = {}  # by file
        self._parts: dict[Place, dict[Place, None]] = {}  # by directory that may be one log: the directories in it
        self._stale: dict[Place, None] = {}
        self._owners: dict[Place, str] = {}  # by directory that belongs to one run: the file of that run

    def note_changes(self, tree_index: int) -> None:
        """Record which files the changed directories of a tree have now. The next `update` reads them."""
        tree = self._trees[tree_index]
        top = tree.log_directory.path
        for directory in tree.changed:
            place = (tree_index, directory)
            before, now = self._listed.get(place, ()), tree.candidates_in(directory)
            if before == now:
                continue
            self._listed[place] = now
            if not now:
                del self._listed[place]
            for file in set(before) ^ set(now):
                self._stale[tree_index, file.path] = None
            for file in before:
                self._found.pop((tree_index, file.path), None)
            for file in now:
                self._found[tree_index, file.path] = file
            if (log := candidates.candidate_directory(directory, top=top)) is not None:
                self._stale[tree_index, log] = None
                self._parts.setdefault((tree_index, log), {})[place] = None

    @property
    def pending(self) -> int:
        """How many files the next `update` looks at."""
        return len(self._stale)

    def update(self, *, skips: Callable[[str], bool], progress: Progress | None = None) -> list[ParsedFile]:
        """Read what changed, and return the files whose runs did. Files for which `skips(path)` holds are left out."""
        changed: list[ParsedFile] = []
        if not self._stale:
            return changed
        from pulseboard.read.format import all_readers

        owning = [reader for reader in all_readers() if reader.owns_directory]

        def urgency(place: Place) -> tuple[bool, bool, Place]:
            # What decides about other files comes first: directories that are one log, and logs that own one.
            name = os.path.basename(place[1]).lower()
            return place not in self._parts, not any(one.matches(name) for one in owning), place

        queue = sorted(self._stale, key=urgency)
        while queue:
            place = queue.pop(0)
            found = self._files_of(place)
            if not found or skips(place[1]) or self._belongs_to_another(place):
                changed += self._forget(place, queue)
            else:
                changed += self._read(place, found, queue)
            if progress is not None:
                progress(max(0, len(self._stale) - len(queue)), len(self._stale))
        self._stale.clear()
        return changed

    def _files_of(self, place: Place) -> tuple[FoundFile, ...]:
        """The file itself; for a directory that may be one log, all files in it."""
        if place in self._parts:
            return tuple(file for part in self._parts[place] for file in self._listed.get(part, ()))
        return (self._found[place],) if place in self._found else ()

    def _read(self, place: Place, found: tuple[FoundFile, ...], queue: list[Place]) -> Iterator[ParsedFile]:
        from pulseboard.read.parsed_files.file import ParsedFile

        index, path = place
        file = self.files.get(place)
        if file is None:
            file = self.files[place] = ParsedFile(path, given=path == self._trees[index].log_directory.path)
        reader_before = file.reader
        restored = self._restore(file, found)
        # At every open: a directory may have become a link since it was listed.
        with staying_within(self._trees[index].log_directory.allowed()):
            file.recognize(found)
        if file.reader is not reader_before:
            if place in self._parts:
                queue += [(index, one.path) for one in found if (index, one.path) not in queue]
            elif file.reader is not None and file.reader.owns_directory:
                directory = os.path.dirname(path)
                self._owners[index, directory] = path
                queue += self._below((index, directory), but=queue)
        with staying_within(self._trees[index].log_directory.allowed()):
            changed = file.load(found)
        if changed and self._cache is not None and file.loaded is not None:
            self._cache.loaded_parsed(file)
        if changed or restored or file.notes():
            yield file
        else:
            file.replaced = ()

    def _restore(self, file: ParsedFile, found: tuple[FoundFile, ...]) -> bool:
        """Take what is cached of a file that was not read yet. Returns whether that was all there is to read."""
        if self._cache is None or file.loaded is not None or len(found) != 1 or found[0].path != file.path:
            return False
        self._cache.restore_parsed(file, found[0])
        return file.loaded is not None

    def _forget(self, place: Place, queue: list[Place]) -> Iterator[ParsedFile]:
        index, path = place
        file = self.files.pop(place, None)
        if not self._files_of(place):
            self._parts.pop(place, None)
        if self._owners.get((index, os.path.dirname(path))) == path and not os.path.exists(path):
            del self._owners[index, os.path.dirname(path)]
            queue += self._below((index, os.path.dirname(path)), but=queue)
        if file is not None:
            yield file

    def _below(self, directory: Place, *, but: list[Place]) -> list[Place]:
        """The files below a directory, which must be read or forgotten since its owner changed."""
        index, prefix = directory[0], os.path.join(directory[1], "")
        known = set(but)
        below = [place for place in self._found if place[0] == index and place[1].startswith(prefix)]
        return [place for place in below if place not in known]

    def _belongs_to_another(self, place: Place) -> bool:
        """Whether it is part of a directory that is one log, or of a directory that belongs to another run."""
        index, path = place
        top = self._trees[index].log_directory.path
        if self._parts and (log := candidates.candidate_directory(os.path.dirname(path), top=top)) is not None:
            unit = self.files.get((index, log))
            if log != path and unit is not None and unit.reader is not None:
                return True
        if not self._owners:
            return False
        for directory in path_and_parents(os.path.dirname(path)):
            owner = self._owners.get((index, directory))
            if owner is not None and owner != path:
                return not self._is_owner_too(place, directory)
            if directory == top:
                return False
        return False

    def _is_owner_too(self, place: Place, directory: str) -> bool:
        """Several logs that own the same directory are all read."""
        from pulseboard.read.format import all_readers

        file = self.files.get(place)
        if os.path.dirname(place[1]) != directory:
            return False
        if file is not None and file.reader is not None:
            return file.reader.owns_directory
        name = os.path.basename(place[1]).lower()
        return any(one.owns_directory and one.matches(name) for one in all_readers())

    def recheck(self, path: str) -> None:
        """Decide about a file again in the next update."""
        self._stale |= dict.fromkeys(place for place in self._found if place[1] == path)

    def notes(self) -> list[Note]:
        """What is wrong with files that have no run."""
        return [note for file in list(self.files.values()) for note in file.notes()]
