"""Discovery: which runs lie below the log directories, and which files each has."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from pulseboard.core.errors import LogNotFound, NameTaken
from pulseboard.core.note import Note
from pulseboard.files import layout

# File systems tell time in ticks, of 4 ms on most and up to 2 s on FAT: two changes may share one.
_TICK_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Root:
    """One log directory (or event file) and the name its runs are put under, if any."""

    path: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class FoundFile:
    """An event file as the last look at the directory saw it. Two that differ: the file changed."""

    path: str
    size: int
    mtime_ns: int
    identity: tuple[int, int]  # device and inode: survives a rename


@dataclass(slots=True)
class FoundDirectory:
    """A directory that was looked into."""

    path: str
    mtime_ns: int
    settled: bool  # the time of change was well past, so a later change has another
    files: list[FoundFile] = field(default_factory=list)
    below: list[str] = field(default_factory=list)  # the directories in it
    links: list[str] = field(default_factory=list)  # those of them that are links
    is_run: bool = False
    has_run_file: bool = False


@dataclass(frozen=True, slots=True)
class FoundRun:
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


def roots_of(specs: Iterable[str | os.PathLike[str]]) -> list[Root]:
    """Log directories from what a user wrote: paths and `name:path` pairs.

    Several paths without names are told apart by their last parts, as many as it takes.
    """
    pairs = []
    for spec in specs:
        name, path = layout.split_root(os.fspath(spec))
        if not os.path.exists(path):
            raise LogNotFound(path)
        pairs.append((name, os.path.abspath(path)))
    unnamed = [path for name, path in pairs if name is None]
    if len(pairs) > 1:
        pairs = [(name or _telling(path, unnamed), path) for name, path in pairs]
    taken: dict[str | None, str] = {}
    for name, path in pairs:
        if taken.setdefault(name, path) != path:
            raise NameTaken(str(name), paths=(taken[name], path))
    return [Root(path, name) for name, path in pairs]


def _telling(path: str, among: list[str]) -> str:
    parts = path.split(os.sep)
    for n in range(1, len(parts)):
        tail = os.sep.join(parts[-n:])
        if sum(other == path or other.endswith(os.sep + tail) for other in among) == 1:
            return tail
    return path


def walk(top: str, *, root: Root, note: Callable[[Note], None]) -> Iterator[FoundDirectory]:
    """Every directory at or below `top`, links followed, loops left out."""
    stack = [top]
    while stack:
        found = look(stack.pop(), root=root, note=note)
        if found is not None:
            yield found
            stack.extend(reversed(found.below))


def look(path: str, *, root: Root, note: Callable[[Note], None]) -> FoundDirectory | None:
    """One directory, without those below it. None where it is gone or closed to us."""
    try:
        return _look_into(path, root.path)
    except FileNotFoundError:
        return None  # gone between two looks: an ordinary state
    except OSError as error:
        note(Note("unreadable", f"Left out a directory: {error.strerror}.", path))
        return None


def _look_into(path: str, root: str) -> FoundDirectory:
    mtime_ns = os.stat(path).st_mtime_ns
    found = FoundDirectory(path, mtime_ns, settled=time.time_ns() - mtime_ns > _TICK_NS)
    archived: dict[str, FoundFile] = {}
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            try:
                if layout.marks_a_run(name) and not entry.is_dir():
                    found.is_run = True
                    if layout.is_event_file(name):
                        file = found_file(entry.path, entry.stat())
                        if layout.is_archived(name):
                            archived[os.path.join(path, layout.original_name(name))] = file
                        else:
                            found.files.append(file)
                elif name == layout.RUN_FILE:
                    found.has_run_file = True
                elif entry.is_dir():
                    if not entry.is_symlink():
                        found.below.append(entry.path)
                    elif _leads_on(entry.path, root):
                        found.below.append(entry.path)
                        found.links.append(entry.path)
            except OSError:
                continue  # a link to nothing, or a file that went while we looked
    # Where a file and its archived copy both stand, the archiving was cut short: the file counts.
    plain = {file.path for file in found.files}
    found.files += [file for original, file in archived.items() if original not in plain]
    found.files.sort(key=lambda file: layout.original_name(file.path))
    found.below.sort()
    return found


def found_file(path: str, stat: os.stat_result) -> FoundFile:
    """A file as `stat` saw it."""
    # Some network file systems give every file inode 0; their paths must tell them apart.
    return FoundFile(path, stat.st_size, stat.st_mtime_ns, (stat.st_dev, stat.st_ino or hash(path)))


def _leads_on(link: str, root: str) -> bool:
    """Whether a link leads to a directory that is not reached without it.

    One that leads to a directory which holds it would have no end. One met behind another link is
    left out where its target has a path of its own in the log: runs that each link to the one before
    would otherwise be found once for every chain of links.
    """
    try:
        target = os.stat(link)
        at, inside, tops = os.path.dirname(link), True, []
        while True:
            if os.path.samestat(target, os.stat(at)):
                return False
            inside = inside and at != root
            if inside and os.path.islink(at):
                tops.append(at)
            if (above := os.path.dirname(at)) == at:
                break
            at = above
        if not tops:
            return True
        real = os.path.realpath(link)
        return not any(real.startswith(os.path.join(os.path.realpath(top), "")) for top in [root, *tops])
    except OSError:
        return False


def runs_in(root: Root, directories: Iterable[FoundDirectory]) -> Iterator[FoundRun]:
    """The runs among a root's directories, named as TensorBoard names them.

    The event files of a run that Pulseboard recorded lie some levels below its run.json; that run goes
    by the short name of the directory with the run.json, and its TensorBoard name stays an alias. What
    its ranks wrote lies below `ranks/`, and belongs to it.
    """
    # In order of path, whatever order they were found in: of two links to one file, the same always counts.
    known = {directory.path: directory for directory in sorted(directories, key=lambda directory: directory.path)}

    def name_of(path: str) -> str:
        return _join(root.name, os.path.relpath(path, root.path))

    runs: dict[str, FoundRun] = {}  # by the directory that gives them their name
    ranks: dict[str, list[tuple[int, FoundRun]]] = {}
    for directory in known.values():
        if not directory.is_run:
            continue
        name = name_of(directory.path)
        aliases = [root.name] if root.name and name == f"{root.name}/." else []
        run = FoundRun(name, tuple(aliases), directory.path, tuple(directory.files))
        above, last = os.path.split(directory.path)
        top = known.get(directory.path.removesuffix(os.sep + layout.EVENTS_DIRECTORY))
        rank_top = known.get(above.removesuffix(os.sep + layout.RANKS_DIRECTORY))
        # From 1 on: rank 0 writes the run itself.
        is_rank = above.endswith(os.sep + layout.RANKS_DIRECTORY) and re.fullmatch("[1-9][0-9]*", last)
        if rank_top is not None and rank_top.has_run_file and is_rank:
            ranks.setdefault(rank_top.path, []).append((int(last), run))
        # Event files beside the run.json are a run already, and the short name is theirs.
        elif top is not None and top is not directory and top.has_run_file and not top.is_run:
            runs[top.path] = replace(run, name=name_of(top.path), aliases=(*aliases, name))
        else:
            runs[directory.path] = run
    for path, found in ranks.items():
        if path in runs:
            runs[path] = replace(runs[path], ranks=tuple(sorted(found, key=lambda rank: rank[0])))
        else:  # rank 0 wrote nothing: then they are runs like any other
            runs.update((rank.directory, rank) for _, rank in found)
    yield from runs.values()


def single_file(root: Root) -> FoundRun:
    """An event file given by itself: one run, named for the file."""
    file = found_file(root.path, os.stat(root.path))
    name = _join(root.name, layout.original_name(os.path.basename(root.path)))
    return FoundRun(name, (), os.path.dirname(root.path) or ".", (file,))


def _join(root_name: str | None, relative: str) -> str:
    # A name is shown, exported and put into URLs, so it is text whatever bytes the directory has.
    name = os.fsencode(relative).decode("utf-8", "backslashreplace").replace(os.sep, "/")
    return f"{root_name}/{name}" if root_name else name
