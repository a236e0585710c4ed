"""Discovery: what a log directory holds, one look at a time. `tree.py` keeps the looks and makes runs of them."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

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
    # Links that lead out of these directories (their real paths) are left out; None: all links are followed.
    within: tuple[str, ...] | None = None


Identity = tuple[int, int]
"""Device and inode: survives a rename."""


# A tuple and no dataclass: one is made for every file at every look, in a quarter of the time.
class FoundFile(NamedTuple):
    """An event file as the last look at the directory saw it. Two that differ: the file changed."""

    path: str
    size: int
    mtime_ns: int
    identity: Identity


@dataclass(slots=True)
class FoundDirectory:
    """A directory that was looked into, or an event file that was given by itself."""

    path: str
    mtime_ns: int
    settled: bool  # the time of change was well past, so a later change has another
    identity: Identity
    files: tuple[FoundFile, ...] = ()
    below: tuple[str, ...] = ()  # the directories in it
    links: tuple[str, ...] = ()  # those of them that are links
    dangling: tuple[str, ...] = ()  # links to nothing: what they name may come later
    is_run: bool = False
    has_run_file: bool = False
    is_file: bool = False


def roots_of(specs: Iterable[str | os.PathLike[str]], *, links_out: bool = True) -> list[Root]:
    """Log directories from what a user wrote: paths and `name:path` pairs.

    Several paths without names are told apart by their last parts, as many as it takes. Without `links_out`, links
    that lead out of all of these directories are not followed.
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
    within = None if links_out else tuple(os.path.realpath(path) for _, path in pairs)
    return [Root(path, name, within) for name, path in pairs]


def _telling(path: str, among: list[str]) -> str:
    parts = path.split(os.sep)
    for n in range(1, len(parts)):
        tail = os.sep.join(parts[-n:])
        if sum(other == path or other.endswith(os.sep + tail) for other in among) == 1:
            return tail
    return path


def at_and_above(path: str) -> Iterator[str]:
    """A path, the directory that holds it, and so on to the top."""
    yield path
    while (above := os.path.dirname(path)) != path:
        yield (path := above)


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
        return _look_into(path, root, note)
    except (FileNotFoundError, NotADirectoryError):
        return None  # gone between two looks: an ordinary state
    except OSError as error:
        note(Note("unreadable", f"Left out a directory: {error.strerror}.", path))
        return None


def _look_into(path: str, root: Root, note: Callable[[Note], None]) -> FoundDirectory:
    status = os.stat(path)
    settled = time.time_ns() - status.st_mtime_ns > _TICK_NS
    found = FoundDirectory(path, status.st_mtime_ns, settled, _identity(path, status))
    if path == root.path and stat.S_ISREG(status.st_mode):
        found.is_run = found.is_file = True
        found.files = (found_file(path, status),)
        return found
    files: list[FoundFile] = []
    archived: dict[str, FoundFile] = {}
    below: list[str] = []
    links: list[str] = []
    dangling: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            try:
                if root.within is not None and entry.is_symlink() and not _stays_within(entry.path, root.within):
                    note(Note("info", "Left out a link that leads out of the log directories.", entry.path))
                    continue
                if layout.marks_a_run(name) and not entry.is_dir():
                    found.is_run = True
                    if layout.is_event_file(name):
                        file = found_file(entry.path, entry.stat())
                        if layout.is_archived(name):
                            archived[os.path.join(path, layout.original_name(name))] = file
                        else:
                            files.append(file)
                elif name == layout.RUN_FILE:
                    found.has_run_file = True
                elif entry.is_dir():
                    if not entry.is_symlink():
                        below.append(entry.path)
                    elif _leads_on(entry.path, root.path):
                        below.append(entry.path)
                        links.append(entry.path)
                elif entry.is_symlink() and not os.path.exists(entry.path):
                    dangling.append(entry.path)
            except OSError:  # a link to nothing, or a file that went while we looked
                if entry.is_symlink():
                    dangling.append(entry.path)
    if archived:  # where a file and its archived copy both stand, the archiving was cut short: the file counts
        plain = {file.path for file in files}
        files += [file for original, file in archived.items() if original not in plain]
    if len(files) > 1:
        files.sort(key=lambda file: layout.original_name(file.path))
    found.files, found.below = tuple(files), tuple(sorted(below))
    found.links, found.dangling = tuple(links), tuple(dangling)
    return found


def found_file(path: str, status: os.stat_result) -> FoundFile:
    """A file as `os.stat` saw it."""
    return FoundFile(path, status.st_size, status.st_mtime_ns, _identity(path, status))


def _identity(path: str, status: os.stat_result) -> Identity:
    # Some network file systems give everything inode 0; their paths must tell them apart.
    return status.st_dev, status.st_ino or hash(path)


def look_at(path: str) -> FoundFile | None:
    """One file; None where it is gone."""
    try:
        return found_file(path, os.stat(path))
    except OSError:
        return None


def is_stale(directory: FoundDirectory) -> bool:
    """Whether a directory may hold other names than when it was looked into."""
    try:
        status = os.stat(directory.path)
    except OSError:
        return True
    return (
        not directory.settled
        or status.st_mtime_ns != directory.mtime_ns
        or _identity(directory.path, status) != directory.identity
        or any(map(os.path.exists, directory.dangling))
    )


def _stays_within(link: str, tops: tuple[str, ...]) -> bool:
    real = os.path.realpath(link)
    return any(real == top or real.startswith(os.path.join(top, "")) for top in tops)


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
