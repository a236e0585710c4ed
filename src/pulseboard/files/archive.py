"""Archiving: an event file compressed to another place, proved whole, and only then removed."""

from __future__ import annotations

import gzip
import os
import shutil
import zlib
from dataclasses import dataclass

from pulseboard.core.errors import PulseboardError
from pulseboard.files import layout

_PIECE = 1 << 20
# 6: event files shrink 3 to 24 fold (docs/log.md). Higher levels were not tried.
_LEVEL = 6


class NotArchived(PulseboardError):
    """A file was left where it is."""

    def __init__(self, why: str, *, path: str) -> None:
        self.path = path
        super().__init__(f"Not archived: {why}. The file stays where it is: {path}")


@dataclass(frozen=True, slots=True)
class Archived:
    """One file that was moved, with its size before and after."""

    source: str
    target: str
    size_before: int
    size_after: int


def target_name(name: str) -> str:
    """What a file is called in the archive: event files get a suffix, others keep their names."""
    packs = layout.is_event_file(name) and not layout.is_archived(name)
    return name + layout.ARCHIVED_SUFFIX if packs else name


def archive_file(source: str, target: str) -> Archived:
    """Move `source` to `target`, compressed where the target's name says so.

    The copy is read back and compared byte for byte with the source, and is on disk, before the
    source goes. Whatever fails leaves the source untouched.
    """
    part = target + ".part"
    try:
        before = os.stat(source)
        if os.path.exists(target):
            raise NotArchived(f"there is a file already at {target}", path=source)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _copy(source, part, packed=_packs(source, target))
        if not _same(source, part, packed=_packs(source, target)):
            raise NotArchived("the copy does not read back as the file", path=source)
        after = os.stat(source)
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise NotArchived("it was written to meanwhile", path=source)
        os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
        os.replace(part, target)
        _sync_directory(os.path.dirname(target))
        _remove(source, copied_to=target)
        return Archived(source, target, before.st_size, os.stat(target).st_size)
    except OSError as error:
        raise NotArchived(str(error.strerror or error), path=source) from error
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _remove(source: str, *, copied_to: str) -> None:
    try:
        os.unlink(source)
    except OSError:
        os.unlink(copied_to)  # or the run would stand in two places, and never be archived again
        raise


def _packs(source: str, target: str) -> bool:
    return layout.is_archived(os.path.basename(target)) and not layout.is_archived(os.path.basename(source))


def _copy(source: str, part: str, *, packed: bool) -> None:
    with open(source, "rb") as stream, open(part, "wb") as raw:
        if packed:
            # No name and no time in the header: the same file gives the same archive.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=_LEVEL, mtime=0) as out:
                shutil.copyfileobj(stream, out, _PIECE)
        else:
            shutil.copyfileobj(stream, raw, _PIECE)
        raw.flush()
        os.fsync(raw.fileno())


def _same(source: str, part: str, *, packed: bool) -> bool:
    with open(source, "rb") as a, gzip.open(part, "rb") if packed else open(part, "rb") as b:
        while True:
            try:
                left, right = a.read(_PIECE), b.read(_PIECE)
            except (EOFError, zlib.error, gzip.BadGzipFile):
                return False
            if left != right:
                return False
            if not left:
                return True


def _sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
