"""The runs of event files in some log directories, loaded and kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pulseboard.core.changes import Changes
from pulseboard.read.discovery.scan import FoundFile, Identity
from pulseboard.read.discovery.tree import FoundRun, Tree
from pulseboard.read.event_files.cache import Cache
from pulseboard.read.event_files.directory_runs import DirectoryRuns
from pulseboard.read.event_files.event_file import EventFile
from pulseboard.read.event_files.load import Progress, load_files
from pulseboard.read.event_files.run import EventFileRun
from pulseboard.read.snapshot import newest_first

_Owner = tuple[int, str]
"""A directory that owns runs: the index of its tree, and its path. See `Tree.changed_runs`."""


class EventFileRuns:
    """Runs of event files by name. One thread calls `update`; others may use a `runs` they got before."""

    def __init__(self, trees: Sequence[Tree], *, cache: Cache | None = None) -> None:
        self.runs: dict[str, EventFileRun] = {}
        """Never changed in place: replaced if runs are added or removed."""
        self._directories: dict[str, DirectoryRuns] = {}  # by the name of the run
        self.same_names = True  # whether the last update left all names as they were, those of ranks included
        self._trees = trees
        self._cache = cache
        self._found: dict[_Owner, tuple[FoundRun, ...]] = {}
        self._owners: dict[str, tuple[_Owner, ...]] = {}  # by run name: if there are several, the last one wins
        # By identity, not by path: a renamed file keeps its columns, and a run reached by two links is held once.
        self._files: dict[Identity, EventFile] = {}
        self._listings: dict[Identity, tuple[tuple[_Owner, FoundFile], ...]] = {}  # the latest for each of its paths
        # Work that is not done yet: after an interrupt the next call continues it. Dictionaries, not sets, which
        # have no order: going over ten thousand runs is faster in the order they were made.
        self._changed_files: dict[Identity, None] = {}
        self._loaded_files: dict[Identity, None] = {}
        self._stale_runs: dict[str, None] = {}  # by name

    def note_changes(self, tree_index: int) -> None:
        """Record which runs the changed directories of a tree have now. The next `update` loads them."""
        for directory, runs in self._trees[tree_index].changed_runs():
            self._set_runs_of((tree_index, directory), runs)

    def update(self, progress: Progress | None, meanwhile: Callable[[], None] | None = None) -> Changes:
        """Load what is new or changed, and update the runs it belongs to."""
        self._load(progress, meanwhile)
        changes = self._update_runs()
        self._changed_files.clear()
        self._loaded_files.clear()
        self._stale_runs.clear()
        return changes

    def _set_runs_of(self, owner: _Owner, runs: tuple[FoundRun, ...]) -> None:
        """Record the runs an owner has now: who owns each name, and where each file was listed."""
        before = self._found.get(owner, ())
        if runs == before:
            return
        for run in before:
            self._stale_runs[run.name] = None
            self._owners[run.name] = tuple(other for other in self._owners[run.name] if other != owner)
            for file in run.all_files():
                self._changed_files[file.identity] = None
                listings = self._listings[file.identity]
                self._listings[file.identity] = tuple(listing for listing in listings if listing[0] != owner)
        for run in runs:
            self._stale_runs[run.name] = None
            self._owners[run.name] = (*self._owners.get(run.name, ()), owner)
            for file in run.all_files():
                self._changed_files[file.identity] = None
                self._listings[file.identity] = (*self._listings.get(file.identity, ()), (owner, file))
        self._found[owner] = runs
        if not runs:
            del self._found[owner]

    def _load(self, progress: Progress | None, meanwhile: Callable[[], None] | None) -> None:
        """Read what is new in the files that changed, starting with the most recent change."""
        stale: list[FoundFile] = []
        allowed: dict[int, tuple[str, ...] | None] = {}  # by tree
        for identity in self._changed_files:
            listings = self._listings.get(identity)
            if not listings:  # no path leads to it any more
                self._listings.pop(identity, None)
                self._files.pop(identity, None)
                continue
            owner, newest = listings[0]
            path = newest.path
            if len(listings) > 1:  # some of its paths may have been listed longer ago than others
                newest = max((file for _, file in listings), key=lambda file: (file.mtime_ns, file.size))
                owner, path = min((owner, file.path) for owner, file in listings)
            event_file = self._files.get(identity)
            if event_file is None:
                event_file = self._files[identity] = EventFile(path)
                if self._cache is not None:
                    self._cache.restore(event_file, newest)
            event_file.path = path
            if owner[0] not in allowed:
                allowed[owner[0]] = self._trees[owner[0]].log_directory.allowed()
            event_file.restrict(allowed[owner[0]])
            seen = event_file.seen
            if seen is None or (seen.size, seen.mtime_ns) != (newest.size, newest.mtime_ns):
                stale.append(newest)
        stale.sort(key=lambda file: -file.mtime_ns)
        load_files([self._files[file.identity] for file in stale], progress=progress, meanwhile=meanwhile)
        for file in stale:  # only now: files that an interrupt kept from loading must stay stale
            self._files[file.identity].seen = file
            self._loaded_files[file.identity] = None
            for owner, _ in self._listings[file.identity]:
                self._stale_runs.update(dict.fromkeys(run.name for run in self._found[owner]))
        if self._cache is not None and stale:
            self._cache.loaded([self._files[file.identity] for file in stale])

    def _update_runs(self) -> Changes:
        """Bring the stale runs up to date."""
        before = self.runs
        new: dict[str, EventFileRun] = {}
        removed: list[EventFileRun] = []
        grown: list[EventFileRun] = []
        same_ranks = True
        loaded = {self._files[identity] for identity in self._loaded_files if identity in self._files}
        for name in self._stale_runs:
            directory, owners = self._directories.get(name), self._owners.get(name)
            if not owners:
                self._owners.pop(name, None)
                removed += self._directories.pop(name).runs.values() if directory else ()
                continue
            found = next(found for found in self._found[max(owners)] if found.name == name)
            runs_before = {} if directory is None else directory.runs
            files_before = {run.name: run.all_files() for run in runs_before.values()}
            if directory is None or not directory.is_of(found):  # or another directory has this name now
                run = EventFileRun(name, aliases=found.aliases, directory=found.directory)
                directory = self._directories[name] = DirectoryRuns(run)
            elif self._has_changed(directory.whole, found):
                run = directory.whole
            else:
                continue
            ranks = run.ranks
            self._set_files(run, found)
            same_ranks = same_ranks and (ranks == run.ranks or not runs_before)
            directory.update(taken=self._owners)
            for one in directory.runs.values():
                if one is not runs_before.get(one.name):
                    new[one.name] = one
                files = one.all_files()
                has_changed = one.name in new or files != files_before.get(one.name) or not loaded.isdisjoint(files)
                if one.name in files_before and has_changed:
                    grown.append(one)
            removed += [one for one in runs_before.values() if one.name not in directory.runs]
        if new or removed:
            runs = before | new
            for run in removed:
                del runs[run.name]
            self.runs = runs
        self.same_names = same_ranks and not (new or removed)
        added = [run for name, run in new.items() if name not in before]
        return Changes(*(tuple(newest_first(runs)) for runs in (added, removed, grown)))

    def _has_changed(self, run: EventFileRun, found: FoundRun) -> bool:
        identities = [file.identity for file in found.all_files()]
        return run.all_files() != [self._files[one] for one in identities] or any(
            one in self._loaded_files for one in identities
        )

    def _set_files(self, run: EventFileRun, found: FoundRun) -> None:
        run.files = [self._files[file.identity] for file in found.files]
        run.update_after_load()
        ranks = {0: run}
        for number, found_rank in found.ranks:
            rank = run.ranks.get(number)
            if rank is None or rank.directory != found_rank.directory:
                rank = EventFileRun(found_rank.name, aliases=found_rank.aliases, directory=found_rank.directory)
            self._set_files(rank, found_rank)
            ranks[number] = rank
        run.ranks = ranks
