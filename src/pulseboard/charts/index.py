"""The disk index: what was read of each log file, kept in the user's cache directory for the next process.

    <cache>/pulseboard/index-1/<two digits>/<device>-<inode>[-<size>-<time>][-parsed]

One index file per event file (layout: kernel/c/index/index.h) or log of another format (parsed_index.py), named after
the file's identity, so it is found without a catalog and survives a rename. It is written under a temporary name and
renamed: a killed process leaves the old one in place, and of two processes the last wins; both are correct. Nothing in
it is trusted. The whole directory may be deleted at any time.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pulseboard.core.user_cache import cache_directory
from pulseboard.kernel import reader
from pulseboard.read.discovery.scan import FoundFile
from pulseboard.read.event_files.event_file import EventFile
from pulseboard.read.parsed_files.file import ParsedFile

VERSION = 1

_MAX_BYTES = 8 << 30
_PART = ".part"  # in the name of a file that is being written

# A smaller event file is read as fast as its index would be.
_MIN_FILE_BYTES = 32 << 10
# A growing file is written again once this fraction of it is new, so all writes together stay a few times its size.
_GROWN_FRAC = 0.25
_WRITE_AFTER_SECS = 2.0  # the first charts come before the writing
_IDLE_SECS = 30.0  # a file that has not grown for this long is written as it is
_PAUSE_SECS = 600.0  # after an error, such as a full disk
_KEEP_FREE_FRAC = 0.05
_KEEP_FREE_BYTES = 1 << 30
_TOUCH_SECS = 3600.0  # times of use are accurate to the hour
_STALE_PART_SECS = 3600.0  # a part this old was left by a killed process

_COMPLETE = (reader.END_CLEAN, reader.END_TORN, reader.END_BAD_LENGTH, reader.END_HUGE)


class Saved(Protocol):
    """What is saved: an event file's log, which grows, a `ParsedLog`, or `KeptSettings`."""

    @property
    def generation(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def held_bytes(self) -> int: ...
    def save(self, fd: int) -> int: ...


@dataclass(slots=True)
class _Pending:
    """A file with data to write."""

    log: Saved
    offset: int  # at the last check
    since: float  # when it last grew


class Index:
    """Restores event files without reading them, and saves what was read of them on a background thread."""

    def __init__(self, directory: Path | None = None, *, max_bytes: int = _MAX_BYTES) -> None:
        self.directory = directory if directory is not None else cache_directory()
        self.max_bytes = max_bytes
        self.restored = 0  # number of files restored
        self.problem: str | None = None  # why nothing is being written, as a sentence
        self._top = self.directory / f"index-{VERSION}"
        self._saved: dict[str, tuple[int, int]] = {}  # name -> generation and offset of what is on disk
        self._pending: dict[str, _Pending] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._saving = threading.Lock()
        self._thread: threading.Thread | None = None
        self._paused_until = 0.0
        self._unswept_bytes: int | None = None  # written since the last sweep; None before the first

    # ---- the interface of read.event_files.cache.Cache

    def restore(self, file: EventFile, found: FoundFile) -> None:
        """Fill a file that has not been read yet with what the index holds of it.

        If the event file has not changed since, it is marked as seen and need not be opened. Otherwise reading
        continues where the index ends.
        """
        if found.size < _MIN_FILE_BYTES or file.log.offset:
            return
        path = self._top / _name(file, found)
        if not file.log.restore(os.fsencode(path), os.fsencode(file.path)):
            return
        log = file.log
        # The kernel cannot read the columns of an archived file again, so they must be good now.
        usable = log.fetch() if file.archived else log.identity == found.identity and log.offset <= found.size
        if not usable:
            log.reset()
            return
        self.restored += 1
        self._saved[_name(file, found)] = (log.generation, log.offset)
        if file.archived or (log.size, log.mtime_ns) == (found.size, found.mtime_ns):
            file.seen = found
        _touch(path)

    def loaded(self, files: Iterable[EventFile]) -> None:
        """Schedule files that were just read for saving."""
        now = time.monotonic()
        with self._lock:
            for file in files:
                if file.seen is None or file.seen.size < _MIN_FILE_BYTES or file.log.end not in _COMPLETE:
                    continue
                self._pending[_name(file, file.seen)] = _Pending(file.log, file.log.offset, now)
            self._start()
        self._wake.set()

    def restore_parsed(self, file: ParsedFile, found: FoundFile) -> None:
        """Fill a file of another format with what the index holds of it, if it has not changed since."""
        if found.size < _MIN_FILE_BYTES:
            return
        from pulseboard.charts import parsed_index

        path = self._top / _parsed_name(found)
        known = parsed_index.load(path, found, given=file.given)
        if known is None:
            return
        self.restored += 1
        self._saved[_parsed_name(found)] = (0, found.size)
        file.restore(*known, found)
        _touch(path)

    def loaded_parsed(self, file: ParsedFile) -> None:
        """Schedule a file of another format that was just read for saving."""
        found = file.loaded
        if found is None or file.reader is None or found.size < _MIN_FILE_BYTES or not file.runs:
            return
        from pulseboard.charts.parsed_index import ParsedLog

        log = ParsedLog(found, file.given, file.reader, file.data)
        with self._lock:
            self._pending[_parsed_name(found)] = _Pending(log, found.size, time.monotonic())
            self._start()
        self._wake.set()

    # ---- other things that take long to read (lists/kept_settings.py)

    def kept(self, name: str) -> bytes | None:
        """What an earlier process kept under a name."""
        path = self._top / name
        try:
            data = path.read_bytes()
        except OSError:
            return None
        _touch(path)
        return data

    def is_kept(self, name: str, saved: Saved) -> None:
        """This is what `kept` returned."""
        self._saved[name] = (saved.generation, saved.offset)

    def keep(self, name: str, saved: Saved) -> None:
        """Schedule it for saving under a name."""
        with self._lock:
            self._pending.setdefault(name, _Pending(saved, saved.offset, time.monotonic()))
            self._start()
        self._wake.set()

    def _start(self) -> None:
        if self._pending and self._thread is None and not self._closing.is_set():
            self._thread = threading.Thread(target=self._work, name="pulseboard-index", daemon=True)
            self._thread.start()

    def save(self) -> None:
        """Write everything that is pending, now."""
        with self._lock:
            names = list(self._pending)
        self._write(names)

    def close(self) -> None:
        """Write everything that is pending and end the thread."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self.save()

    # ---- the thread

    def _work(self) -> None:
        while not self._closing.is_set():
            self._wake.wait(_IDLE_SECS)
            self._wake.clear()
            if not self._closing.wait(_WRITE_AFTER_SECS):
                self._write(self._due())

    def _due(self) -> list[str]:
        """Files that have grown enough since they were written, or have stopped growing."""
        now = time.monotonic()
        due = []
        with self._lock:
            for name, pending in self._pending.items():
                log = pending.log
                generation, offset = self._saved.get(name, (-1, 0))
                if pending.offset != log.offset:
                    pending.offset, pending.since = log.offset, now
                grown = log.generation != generation or log.offset - offset > _GROWN_FRAC * offset
                if grown or now - pending.since > _IDLE_SECS:
                    due.append(name)
        return due

    def _write(self, names: list[str]) -> None:
        with self._saving:
            for name in names:
                if time.monotonic() < self._paused_until:
                    return
                with self._lock:
                    pending = self._pending.get(name)
                if pending is None:
                    continue
                log = pending.log
                state = (log.generation, log.offset)
                if self._saved.get(name) != state and log.end in _COMPLETE:
                    try:
                        self._write_one(log, name)
                    except OSError as error:
                        self._pause(error)
                        return
                    self._saved[name] = state
                with self._lock:
                    if (log.generation, log.offset) == state and self._pending.get(name) is pending:
                        del self._pending[name]
            self._sweep()

    def _write_one(self, log: Saved, name: str) -> None:
        path = self._top / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._check_free_space(log)
        part = path.with_name(f"{path.name}{_PART}-{os.getpid()}-{threading.get_ident()}")
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            error = log.save(fd)
            size = os.fstat(fd).st_size
        finally:
            os.close(fd)
        if error:
            _remove(part)
            if error not in (errno.EAGAIN, errno.EILSEQ):
                raise OSError(error, os.strerror(error), str(part))
            return  # the file was replaced, or the old index is damaged: the next reader will notice
        try:
            os.replace(part, path)
        except OSError:
            _remove(part)
            raise
        self._unswept_bytes = None if self._unswept_bytes is None else self._unswept_bytes + size

    def _check_free_space(self, log: Saved) -> None:
        usage = shutil.disk_usage(self._top)
        keep = min(_KEEP_FREE_BYTES, int(usage.total * _KEEP_FREE_FRAC))
        if usage.free - log.held_bytes < keep:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._top))

    def _pause(self, error: OSError) -> None:
        self.problem = (
            f"The index is not written for the next {_PAUSE_SECS / 60:g} minutes: {error.strerror}. Results stay "
            "correct, but the next start reads more. Free some space, or set XDG_CACHE_HOME to another disk. "
            f"{self._top}"
        )
        self._paused_until = time.monotonic() + _PAUSE_SECS

    # ---- the size limit

    def _sweep(self) -> None:
        """Remove the least recently used files until the index fits its limit, and what killed processes left."""
        if self._unswept_bytes is not None and self._unswept_bytes < self.max_bytes // 20:
            return
        kept: list[tuple[float, int, str]] = []
        now = time.time()
        # Other versions too: nothing else limits them.
        for top in self.directory.glob("index-*"):
            for path, stat in _files_below(str(top)):
                if _PART in os.path.basename(path):
                    if now - stat.st_mtime > _STALE_PART_SECS:
                        _remove(path)
                else:
                    kept.append((stat.st_mtime, stat.st_size, path))
        total = sum(size for _, size, _ in kept)
        for _, size, path in sorted(kept):
            if total <= self.max_bytes:
                break
            _remove(path)
            total -= size
        self._unswept_bytes = 0


def _name(file: EventFile, found: FoundFile) -> str:
    """The path of a file's index below the top directory.

    An archived file is read completely or not at all, so its name includes its size and time.
    """
    device, inode = found.identity
    version = f"-{found.size:x}-{found.mtime_ns:x}" if file.archived else ""
    return f"{inode & 0xFF:02x}/{device:x}-{inode:x}{version}"


def _parsed_name(found: FoundFile) -> str:
    device, inode = found.identity
    return f"{inode & 0xFF:02x}/{device:x}-{inode:x}-parsed"


def _touch(path: Path) -> None:
    """Record that an index was used, so that others are removed first."""
    try:
        if time.time() - path.stat().st_mtime > _TOUCH_SECS:
            os.utime(path)
    except OSError:
        pass


def _files_below(top: str) -> Iterable[tuple[str, os.stat_result]]:
    try:
        with os.scandir(top) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _files_below(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.path, entry.stat(follow_symlinks=False)
    except OSError:
        return  # another process removed it


def _remove(path: str | Path) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
