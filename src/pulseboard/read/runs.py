"""Runs: every run in one or more log directories, of every format, loaded and kept up to date."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from pulseboard.core.changes import Changes
from pulseboard.core.errors import LogNotFound, RunNotFound
from pulseboard.core.note import Note
from pulseboard.core.table import Table
from pulseboard.read.discovery.log_directory import LogDirectory, log_directories_from, path_and_parents
from pulseboard.read.discovery.tree import Tree
from pulseboard.read.event_files.cache import Cache
from pulseboard.read.event_files.load import Progress
from pulseboard.read.event_files.runs import EventFileRuns
from pulseboard.read.numpy_import import import_numpy
from pulseboard.read.parsed_files.files import ParsedFiles
from pulseboard.read.progress import Overall
from pulseboard.read.run import Run
from pulseboard.read.snapshot import Snapshot, newest_first
from pulseboard.read.table import table_of_runs
from pulseboard.read.uncollected import uncollected
from pulseboard.rundir import layout
from pulseboard.rundir.regular_file import staying_within

if TYPE_CHECKING:
    # Most log directories are local, and do not need what remote ones do.
    # Loaded with the first log of another format.
    from pulseboard.read.joining.joiner import Joiner
    from pulseboard.read.parsed_files.file import ParsedFile
    from pulseboard.read.parsed_run import ParsedRun
    from pulseboard.read.remote.mirror import Mirror
    from pulseboard.read.remote.store import Traffic


class Runs(Mapping[str, Run], Table):
    """Runs by name, most recently active first. Lookups accept aliases too.

    `refresh`, `poll` and `follow` pick up what is new; one thread may call them while others read.
    """

    def __init__(self, log_directories: Iterable[LogDirectory], *, cache: Cache | None = None) -> None:
        self.log_directories = tuple(log_directories)
        self._trees = [Tree(directory) for directory in dict.fromkeys(self.log_directories)]
        self._trees_by_path: dict[str, list[int]] = {}
        for index, tree in enumerate(self._trees):
            self._trees_by_path.setdefault(tree.log_directory.path, []).append(index)
        self._event_files = EventFileRuns(self._trees, cache=cache)
        self._parsed_files = ParsedFiles(self._trees, cache=cache)
        self.mirrors = _mirrors_of(self.log_directories)
        self._following = False  # threads update the mirrors
        self._joiner: Joiner | None = None  # until there is a log of another format
        self._snapshot = Snapshot({})
        self._published = self._event_files.runs  # the runs of event files that the snapshot shows
        self._refreshing = threading.Lock()

    # ---- the mapping

    def __getitem__(self, name: str) -> Run:
        run = self._snapshot.find(name)
        if run is None:
            raise RunNotFound(name, known=list(self))
        return run

    def __iter__(self) -> Iterator[str]:
        return iter(self._snapshot.order())

    def __len__(self) -> int:
        return len(self._snapshot.runs)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._snapshot.find(name) is not None

    def __repr__(self) -> str:
        where = ", ".join(directory.location for directory in self.log_directories)
        return f"Runs({where!r}, {len(self)} runs)"

    def _repr_html_(self) -> str:
        from pulseboard.read.notebook import html_of_runs

        return html_of_runs(self.values(), ", ".join(directory.location for directory in self.log_directories))

    def show(self, runs: dict[str, Run]) -> None:
        """Replace the runs with those that a subclass found elsewhere."""
        self._snapshot = Snapshot(runs)

    def notes(self) -> list[Note]:
        """Everything that is wrong: directories left out, files damaged."""
        left_out = [note for mirror in self.mirrors for note in mirror.notes]
        left_out += [note for tree in self._trees for note in tree.notes()]
        noted = {note.path for note in left_out}
        left_out += [note for note in self._parsed_files.notes() if note.path not in noted]
        return left_out + [note for run in self.values() for note in run.notes()]

    def of_other_formats(self) -> list[ParsedRun]:
        """The runs that no event file holds anything of."""
        from pulseboard.read.parsed_run import ParsedRun

        mains = [run.main for run in self.values()]
        return [run for run in mains if isinstance(run, ParsedRun)]

    foreign = of_other_formats
    """The old name of `of_other_formats`, kept for programs that use it."""

    def columns(self) -> dict[str, Any]:
        """One long table of all scalars of all runs: `run`, `tag`, `step`, `wall_time`, `value`."""
        return table_of_runs(self)

    # ---- keeping up

    def refresh(self, *, progress: Progress | None = None, meanwhile: Callable[[], None] | None = None) -> Changes:
        """Scan every directory for new runs and new bytes. Raises RemoteError if a remote one cannot be read.

        `meanwhile` is called while event files load.
        """
        with self._refreshing:
            for mirror in self.mirrors:
                mirror.update(progress=progress)
            with uncollected():
                for tree in self._trees:
                    tree.scan_all()
            return self._update(range(len(self._trees)), progress, meanwhile)

    def poll(self, paths: Iterable[str] | None = None) -> Changes:
        """Scan only what changed: the given paths, or the directories whose modification times changed.

        With paths, the cost depends on the directories they are in, not on the number of runs. Without, remote
        directories are listed, unless `follow` does that already.
        """
        with self._refreshing:
            if paths is None and not self._following:
                for mirror in self.mirrors:
                    mirror.update()
            if paths is not None:
                paths_by_tree = self._by_tree(paths)
                for index, paths_in_tree in paths_by_tree.items():
                    self._trees[index].scan_at(paths_in_tree)
                return self._update(paths_by_tree, None)
            for tree in self._trees:
                tree.scan_changed()
            return self._update(range(len(self._trees)), None)

    def _by_tree(self, paths: Iterable[str]) -> dict[int, list[str]]:
        out: dict[int, list[str]] = {}
        for path in paths:
            for directory in path_and_parents(path):
                for index in self._trees_by_path.get(directory, ()):
                    out.setdefault(index, []).append(path)
        return out

    def follow(self, *, every_secs: float = 5.0, stop: threading.Event | None = None) -> Iterator[Changes]:
        """Wait for changes and yield them as they come, until `stop` is set.

        Uses file-system events where they work. Elsewhere it polls every `every_secs`, or less often if polling
        would take more than a fiftieth of a core. A remote directory is listed every `every_secs` after a change, and
        less and less often while nothing changes, at least once a minute.
        """
        from pulseboard.read.follow import follow

        if not self.mirrors:
            return follow(self, every_secs=every_secs, stop=stop or threading.Event())
        return self._follow_mirrors(every_secs, stop or threading.Event())

    def _follow_mirrors(self, every_secs: float, stop: threading.Event) -> Iterator[Changes]:
        """Threads update the mirrors, and their files are followed like those of any log directory."""
        from pulseboard.read.follow import follow
        from pulseboard.read.remote.follow import keep_up

        ended = threading.Event()
        self._following = True
        keep_up(self.mirrors, every_secs=every_secs, stop=ended)
        try:
            yield from follow(self, every_secs=every_secs, stop=stop)
        finally:
            ended.set()
            self._following = False

    # ---- remote directories

    def connect(self) -> list[str]:
        """List the remote directories, and return the URLs where nothing is yet. Raises RemoteError.

        The next `refresh` uses these listings.
        """
        return [mirror.url for mirror in self.mirrors if not mirror.connect()]

    def traffic(self) -> dict[str, Traffic]:
        """What reading each remote directory has cost so far, by URL."""
        return {mirror.url: mirror.traffic for mirror in self.mirrors}

    def contained(self) -> AbstractContextManager[None]:
        """Files of runs that are opened in this block must be in the log directories, unless links may lead out."""
        allowed = [directory.allowed() for directory in self.log_directories]
        return staying_within(None if None in allowed else tuple(path for paths in allowed if paths for path in paths))

    def close(self) -> None:
        """End the connections to remote directories. What was read stays."""
        for mirror in self.mirrors:
            mirror.close()

    def linked_directories(self) -> list[str]:
        """The directories that were reached through a link."""
        return [link for tree in self._trees for links in tree.links.values() for link in links]

    def _update(
        self, tree_indices: Iterable[int], progress: Progress | None, meanwhile: Callable[[], None] | None = None
    ) -> Changes:
        """Load what the scans of these trees found to be new or changed, and update the runs it belongs to."""
        with uncollected():
            for index in tree_indices:
                self._event_files.note_changes(index)
                self._parsed_files.note_changes(index)
                self._trees[index].changed.clear()
            overall = None if progress is None else Overall(progress, pending=self._parsed_files.pending)
            changes = self._event_files.update(overall.first_step if overall else None, meanwhile)
        parsed = self._update_parsed_files(changes, overall.second_step if overall else None)
        same_names = self._event_files.same_names and self._published is self._event_files.runs
        has_logs = self._joiner is not None and self._joiner.has_logs
        joined_again = has_logs and (not same_names or self._near(changes.grown))
        if parsed and not joined_again and (replaced := self._replaced_by_growth(parsed)) is not None:
            self._snapshot = self._snapshot.with_replaced(replaced)
            grown = [self._snapshot.runs[name] for name in (*changes.grown, *replaced)]
            changes = Changes(changes.added, changes.removed, tuple(newest_first(grown)))
        elif parsed or joined_again:
            changes = self._join(changes)
        elif not same_names:
            self._snapshot = Snapshot(dict(self._event_files.runs))
        elif changes:
            self._snapshot = self._snapshot.after_growth()
        self._published = self._event_files.runs
        return changes

    def _near(self, grown: Iterable[str]) -> bool:
        """Whether one of these runs of event files is near a log that may belong to it."""
        return self._joiner is not None and not self._joiner.near.isdisjoint(grown)

    def _replaced_by_growth(self, parsed: list[ParsedFile]) -> dict[str, Run] | None:
        """The runs of files that only grew, by name; None if names or joined runs may change too.

        This keeps the cost of a row that is added to one log independent of the number of logs.
        """
        if self._joiner is None:
            return None
        out: dict[str, Run] = {}
        for file in parsed:
            if not file.only_grew():
                return None
            for before, now in zip(file.replaced, file.runs, strict=True):
                if self._snapshot.runs.get(before.name) is not before or not self._joiner.is_alone(before):
                    return None
                now.name, now.aliases = before.name, before.aliases
                out[now.name] = now
        return out

    def _update_parsed_files(self, changes: Changes, progress: Progress | None) -> list[ParsedFile]:
        for name in (*changes.added, *changes.removed):
            # Whether a JSON log is read depends on the event files of its run.
            run = self._event_files.runs.get(name) or self._snapshot.runs.get(name)
            if run is not None and layout.recorded_directory(run.directory) != run.directory:
                self._parsed_files.recheck(os.path.join(layout.recorded_directory(run.directory), layout.JSON_LOG_FILE))
        return self._parsed_files.update(skips=self._repeats_event_files, progress=progress)

    def _repeats_event_files(self, path: str) -> bool:
        """Whether a file is the JSON log of a recorded run that has event files: they have the same values."""
        directory, name = os.path.split(path)
        if name != layout.JSON_LOG_FILE:
            return False
        try:
            names = os.listdir(os.path.join(directory, layout.EVENTS_DIRECTORY))
        except OSError:
            return False
        return any(map(layout.is_event_file, names))

    def _join(self, changes: Changes) -> Changes:
        """Name and join the runs of all formats, publish them, and return what changed."""
        from pulseboard.read.joining.joiner import Joiner
        from pulseboard.read.parsed_files.names import named_runs

        if self._joiner is None:
            self._joiner = Joiner()
        before = self._snapshot.runs
        directories = [tree.log_directory for tree in self._trees]
        event_file_runs = self._event_files.runs
        logs = named_runs(self._parsed_files.files, directories, taken=event_file_runs)
        after = self._joiner.join(event_file_runs, logs)
        self._snapshot = Snapshot(after)
        grown_event_files = {*changes.grown}
        added = [run for name, run in after.items() if name not in before]
        removed = [run for name, run in before.items() if name not in after]
        grown = [
            run
            for name, run in after.items()
            if name in before and (before[name] is not run or name in grown_event_files)
        ]
        return Changes(*(tuple(newest_first(runs)) for runs in (added, removed, grown)))


def _mirrors_of(log_directories: Iterable[LogDirectory]) -> list[Mirror]:
    """A mirror for each remote directory."""
    remote = {one.url: one.within is None for one in log_directories if one.url is not None}
    if not remote:
        return []
    from pulseboard.read.remote.mirror import Mirror
    from pulseboard.read.remote.stores import open_store

    return [Mirror(open_store(url, links_out=links_out)) for url, links_out in remote.items()]


Log = Runs
"""The old name of `Runs`, kept for programs that use it."""


def read(
    *paths: str | os.PathLike[str],
    progress: Callable[[int, int], None] | None = None,
    cache: Cache | None = None,
    arrays: bool = False,
) -> Runs:
    """Read every run in the given log directories, whatever its format: run name -> run.

    A path is a log directory, a log file, a URL such as `s3://bucket/runs` or `ssh://host/path`, a pattern such as
    `runs/2026-*`, or a `name:path` pair, which puts `name/` before the names of its runs. `progress(done, total)` is
    called with numbers of files while they load. `cache` can supply files that were read before. With `arrays`, NumPy
    is loaded while files load.
    """
    if not paths:
        raise LogNotFound("(none)", why="no path was given")
    runs = Runs(log_directories_from(paths), cache=cache)
    runs.refresh(progress=progress, meanwhile=import_numpy if arrays else None)
    for mirror in runs.mirrors:
        if not mirror.found:
            raise LogNotFound(mirror.url, why="nothing is there")
    _refuse_unreadable_files(runs)
    return runs


def _refuse_unreadable_files(runs: Runs) -> None:
    """Raise if the user gave a single file that cannot be read as any format."""
    for directory in runs.log_directories:
        path = directory.path
        if not os.path.isfile(path) or layout.is_event_file(os.path.basename(path)):
            continue
        if any(note.path == path and note.level == "unreadable" for note in runs.notes()):
            why = "this file is not an event file, nor in any other supported format"
            raise LogNotFound(directory.location, why=why)
