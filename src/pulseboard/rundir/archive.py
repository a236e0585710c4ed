"""Archiving: compresses an event file to another directory, verifies the copy, and only then removes the original."""

from __future__ import annotations

import gzip
import os
import shutil
import zlib
from dataclasses import dataclass

from pulseboard.core.errors import PulseboardError
from pulseboard.rundir import layout

_CHUNK_BYTES = 1 << 20
# Level 6 shrinks event files by a factor of 3 to 24 (docs/log.md). Higher levels were not tried.
_LEVEL = 6


class NotArchived(PulseboardError):
    """A file could not be archived and was left in place."""

    def __init__(self, reason: str, *, path: str) -> None:
        self.path = path
        super().__init__(f"Not archived: {reason}. The file was left in place: {path}")


@dataclass(frozen=True, slots=True)
class Archived:
    """A file that was moved, with its size in bytes before and after."""

    source: str
    target: str
    size_before: int
    size_after: int


def target_name(name: str) -> str:
    """The name of a file in the archive: event files get a suffix, others keep their names."""
    compress = layout.is_event_file(name) and not layout.is_archived(name)
    return name + layout.ARCHIVED_SUFFIX if compress else name


def archive_file(source: str, target: str) -> Archived:
    """Move `source` to `target`, compressed if the target's name says so. Raises NotArchived.

    The source is removed only after the copy is on disk and was read back and compared byte for byte. If anything
    fails, the source is untouched.
    """
    partial = target + ".part"
    try:
        before = os.stat(source)
        if os.path.exists(target):
            raise NotArchived(f"there already is a file at {target}", path=source)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        compress = _is_compressed(source, target)
        _copy(source, partial, compress=compress)
        if not _same_content(source, partial, compressed=compress):
            raise NotArchived("the copy differs from the file", path=source)
        after = os.stat(source)
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise NotArchived("it changed during the copy", path=source)
        os.utime(partial, ns=(before.st_atime_ns, before.st_mtime_ns))
        os.replace(partial, target)
        _sync_directory(os.path.dirname(target))
        _remove(source, copied_to=target)
        return Archived(source, target, before.st_size, os.stat(target).st_size)
    except OSError as error:
        raise NotArchived(str(error.strerror or error), path=source) from error
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def _remove(source: str, *, copied_to: str) -> None:
    try:
        os.unlink(source)
    except OSError:
        os.unlink(copied_to)  # otherwise the run would exist twice, and could not be archived again
        raise


def _is_compressed(source: str, target: str) -> bool:
    return layout.is_archived(os.path.basename(target)) and not layout.is_archived(os.path.basename(source))


def _copy(source: str, target: str, *, compress: bool) -> None:
    with open(source, "rb") as stream, open(target, "wb") as raw:
        if compress:
            # No name and no time in the header, so that the same file gives the same archive.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=_LEVEL, mtime=0) as out:
                shutil.copyfileobj(stream, out, _CHUNK_BYTES)
        else:
            shutil.copyfileobj(stream, raw, _CHUNK_BYTES)
        raw.flush()
        os.fsync(raw.fileno())


def _same_content(source: str, copy: str, *, compressed: bool) -> bool:
    with open(source, "rb") as a, gzip.open(copy, "rb") if compressed else open(copy, "rb") as b:
        while True:
            try:
                left, right = a.read(_CHUNK_BYTES), b.read(_CHUNK_BYTES)
            except (EOFError, zlib.error, gzip.BadGzipFile):
                return False
            if left != right:
                return False
            if not left:
                return True


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
