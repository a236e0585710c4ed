"""Scanning: what one directory holds at this moment. `tree.py` keeps the results and turns them into runs."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pulseboard.core.note import Note
from pulseboard.read.discovery import candidates
from pulseboard.read.discovery.log_directory import LogDirectory
from pulseboard.rundir import layout
from pulseboard.rundir.regular_file import is_within

# File systems store times in ticks, 4 ms on most and up to 2 s on FAT: two changes may get the same time.
_TICK_NS = 2_000_000_000


Identity = tuple[int, int]
"""Device and inode: survives a rename."""


# A tuple, not a dataclass: one is created for every file in every scan, in a quarter of the time.
class FoundFile(NamedTuple):
    """A file at the last scan. If two of them differ, the file changed in between."""

    path: str
    size: int
    mtime_ns: int
    identity: Identity


class FoundDirectory:
    """A directory that was scanned, or a single file that was given as log directory."""

    __slots__ = (
        "candidates",
        "dangling",
        "files",
        "has_run_file",
        "identity",
        "is_file",
        "is_run",
        "links",
        "mtime_conclusive",
        "mtime_ns",
        "path",
        "subdirectories",
    )

    def __init__(self, path: str, mtime_ns: int, mtime_conclusive: bool, identity: Identity) -> None:
        self.path = path
        self.mtime_ns = mtime_ns
        self.mtime_conclusive = mtime_conclusive  # it was old enough that any later change gets another mtime
        self.identity = identity
        self.files: tuple[FoundFile, ...] = ()  # the event files
        self.candidates: tuple[FoundFile, ...] = ()  # files that may be logs of other formats, by their names
        self.subdirectories: tuple[str, ...] = ()
        self.links: tuple[str, ...] = ()  # the subdirectories that are links
        self.dangling: tuple[str, ...] = ()  # links whose target does not exist, yet
        self.is_run = False
        self.has_run_file = False
        self.is_file = False


AddNote = Callable[[Note], None]


def walk(top: str, *, within: LogDirectory, note: AddNote) -> Iterator[FoundDirectory]:
    """Scan every directory at or below `top`. Links are followed, except into loops."""
    stack = [top]
    while stack:
        found = scan(stack.pop(), within=within, note=note)
        if found is not None:
            yield found
            stack.extend(reversed(found.subdirectories))


def scan(path: str, *, within: LogDirectory, note: AddNote) -> FoundDirectory | None:
    """Scan one directory, without its subdirectories. None if it is gone or cannot be read."""
    try:
        return _scan(path, within, note)
    except (FileNotFoundError, NotADirectoryError):
        return None  # removed since it was listed, which is not an error
    except OSError as error:
        note(Note("unreadable", f"Left out a directory: {error.strerror}.", path))
        return None


def _scan(path: str, log_directory: LogDirectory, note: AddNote) -> FoundDirectory:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        # A directory that was scanned before may have been replaced by a link. The log directory may be any link.
        if path != log_directory.path and not _stays_within(path, log_directory):
            note(_leads_out(path))
            raise FileNotFoundError(path)
        status = os.stat(path)
    conclusive = time.time_ns() - status.st_mtime_ns > _TICK_NS
    found = FoundDirectory(path, status.st_mtime_ns, conclusive, _identity(path, status))
    if path == log_directory.path and stat.S_ISREG(status.st_mode):
        _set_given_file(found, _found_file(path, status))
        return found
    files: list[FoundFile] = []
    others: list[os.DirEntry[str]] = []
    archived: dict[str, FoundFile] = {}
    subdirectories: list[str] = []
    links: list[str] = []
    dangling: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            try:
                if entry.is_symlink() and not _stays_within(entry.path, log_directory):
                    note(_leads_out(entry.path))
                    continue
                if layout.marks_a_run(name) and not entry.is_dir():
                    found.is_run = True
                    if layout.is_event_file(name):
                        file = _found_file(entry.path, entry.stat())
                        if layout.is_archived(name):
                            archived[os.path.join(path, layout.original_name(name))] = file
                        else:
                            files.append(file)
                elif name == layout.RUN_FILE:
                    found.has_run_file = True
                elif entry.is_dir():
                    if not entry.is_symlink():
                        subdirectories.append(entry.path)
                    elif _leads_to_new_directory(entry.path, log_directory.path):
                        subdirectories.append(entry.path)
                        links.append(entry.path)
                elif entry.is_symlink() and not os.path.exists(entry.path):
                    dangling.append(entry.path)
                else:
                    others.append(entry)
            except OSError:  # a dangling link, or a file that was removed during the scan
                if entry.is_symlink():
                    dangling.append(entry.path)
    if archived:  # if a file and its archived copy both exist, archiving was interrupted: the file counts
        plain = {file.path for file in files}
        files += [file for original, file in archived.items() if original not in plain]
    if len(files) > 1:
        files.sort(key=lambda file: layout.original_name(file.path))
    found.files, found.subdirectories = tuple(files), tuple(sorted(subdirectories))
    found.links, found.dangling = tuple(links), tuple(dangling)
    if others and candidates.is_searched(path, top=log_directory.path):
        found.candidates = _candidates(found, others, top=log_directory.path)
    return found


def _set_given_file(found: FoundDirectory, file: FoundFile) -> None:
    """A file that was given as log directory may have any name: its content decides."""
    from pulseboard.read.format import Candidate, reader_for

    found.is_file = True
    if not layout.is_event_file(os.path.basename(file.path)) and reader_for(Candidate(file.path, given=True)):
        found.candidates = (file,)
    else:
        found.is_run = True
        found.files = (file,)


def _candidates(found: FoundDirectory, entries: list[os.DirEntry[str]], *, top: str) -> tuple[FoundFile, ...]:
    """The entries that may be logs. In a directory that is one log, all files count."""
    named = [one for one in entries if candidates.is_candidate(one.name, directory=found.path, top=top)]
    if not named or _is_reached_twice(found.path, top):
        return ()
    out: list[FoundFile] = []
    for entry in named:
        try:
            if entry.is_file() and not (entry.is_symlink() and _is_reached_twice(entry.path, top)):
                out.append(_found_file(entry.path, entry.stat()))
        except OSError:
            pass  # removed during the scan
    return tuple(sorted(out))


def _is_reached_twice(path: str, top: str) -> bool:
    """Whether links lead from the log directory to what has a path in it without them, such as W&B's `latest-run`."""
    real_top, real = os.path.realpath(top), os.path.realpath(path)
    return real != real_top + path[len(top) :] and real.startswith(os.path.join(real_top, ""))


def _found_file(path: str, status: os.stat_result) -> FoundFile:
    return FoundFile(path, status.st_size, status.st_mtime_ns, _identity(path, status))


def _identity(path: str, status: os.stat_result) -> Identity:
    # Some network file systems give every file inode 0: then the path has to tell them apart.
    return status.st_dev, status.st_ino or hash(path)


def stat_file(path: str) -> FoundFile | None:
    """One file as it is now; None if it is gone."""
    try:
        return _found_file(path, os.stat(path))
    except OSError:
        return None


def may_have_changed(directory: FoundDirectory) -> bool:
    """Whether a directory may have other entries than when it was scanned."""
    try:
        status = os.stat(directory.path)
    except OSError:
        return True
    return (
        not directory.mtime_conclusive
        or status.st_mtime_ns != directory.mtime_ns
        or _identity(directory.path, status) != directory.identity
        or any(map(os.path.exists, directory.dangling))
    )


def _stays_within(link: str, log_directory: LogDirectory) -> bool:
    allowed = log_directory.allowed()
    return allowed is None or is_within(os.path.realpath(link), allowed)


def _leads_out(link: str) -> Note:
    return Note("info", "Left out a link that leads out of the log directories.", link)


def _leads_to_new_directory(link: str, top: str) -> bool:
    """Whether a link in the log directory `top` leads to a directory that is not reached without it.

    A link to a directory that contains the link would recurse forever. A link found behind another link is
    skipped if its target has a path of its own in the log directory: otherwise runs that each link to the
    previous one would be found once for every chain of links.
    """
    try:
        target = os.stat(link)
        directory, inside, links_above = os.path.dirname(link), True, []
        while True:
            if os.path.samestat(target, os.stat(directory)):
                return False
            inside = inside and directory != top
            if inside and os.path.islink(directory):
                links_above.append(directory)
            if (parent := os.path.dirname(directory)) == directory:
                break
            directory = parent
        if not links_above:
            return True
        real = os.path.realpath(link)
        return not any(real.startswith(os.path.join(os.path.realpath(above), "")) for above in [top, *links_above])
    except OSError:
        return False
