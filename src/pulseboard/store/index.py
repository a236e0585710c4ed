"""The disk index: what was read of each event file, kept in the user's cache directory for the next process.

    <cache>/pulseboard/index-1/<two digits>/<device>-<inode>[-<size>-<time>]

One file for each event file (native/index.h has its layout), named for the event file's identity, so that it is found
without a catalogue and survives a rename. It is written beside its name and renamed: a process that is killed leaves
the old one, and of two processes the last wins, and both are right. Nothing in it is trusted. May be deleted at any
time.
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

from pulseboard.native import kernel
from pulseboard.read.discover import FoundFile
from pulseboard.read.readers.event_file import EventFile

VERSION = 1

_MOST_BYTES = 8 << 30
_PART = ".part"  # in the name of a file that is being written

# A smaller event file is read as quickly as its index would be.
_LEAST_BYTES = 32 << 10
# A file that grows is written anew once so much of it is new, so that all writes together stay a few times its size.
_GROWN_SHARE = 0.25
_GATHER_SECS = 2.0  # the first charts come before the writing
_IDLE_SECS = 30.0  # what did not grow for so long is written as it is
_PAUSE_SECS = 600.0  # after the disk was full
_KEEP_FREE_SHARE = 0.05
_KEEP_FREE_BYTES = 1 << 30
_USED_AGAIN_SECS = 3600.0  # times of use are kept to the hour
_LEFT_BEHIND_SECS = 3600.0  # a part that is so old was left by a process that was killed

_WHOLE = (kernel.END_CLEAN, kernel.END_TORN, kernel.END_BAD_LENGTH, kernel.END_HUGE)


def cache_directory() -> Path:
    """Where this user's caches of Pulseboard lie."""
    told = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(told) if os.path.isabs(told) else Path.home() / ".cache"
    return base / "pulseboard"


@dataclass(slots=True)
class _Waiting:
    """A file that has something to be written."""

    file: EventFile
    offset: int  # when it was last looked at
    since: float


class Index:
    """Restores event files without reading them, and keeps what was read of them, in a thread of its own."""

    def __init__(self, directory: Path | None = None, *, most_bytes: int = _MOST_BYTES) -> None:
        self.directory = directory if directory is not None else cache_directory()
        self.most_bytes = most_bytes
        self.restored = 0  # files that were taken over
        self.problem: str | None = None  # why nothing is being written, in words
        self._top = self.directory / f"index-{VERSION}"
        self._saved: dict[str, tuple[int, int]] = {}  # name -> generation and offset of what lies there
        self._waiting: dict[str, _Waiting] = {}
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._closing = threading.Event()
        self._saving = threading.Lock()
        self._thread: threading.Thread | None = None
        self._paused_until = 0.0
        self._unswept_bytes: int | None = None  # written since the last sweep; None before the first

    # ---- what the log calls

    def restore(self, file: EventFile, found: FoundFile) -> None:
        """Make a file that was not read yet hold what the index tells of it.

        Where the file has not changed since, it counts as seen, and need not be looked into. What is new is read
        from where the index ends.
        """
        if found.size < _LEAST_BYTES or file.log.offset:
            return
        path = self._top / _name(file, found)
        raw = os.fsencode(path)
        if not file.log.restore(raw, os.fsencode(file.path)):
            return
        log = file.log
        # An archived file's columns cannot be read again by the kernel, so they must be good now.
        fits = log.fetch() if file.archived else log.identity == found.identity and log.offset <= found.size
        if not fits:
            log.reset()
            return
        self.restored += 1
        self._saved[_name(file, found)] = (log.generation, log.offset)
        if file.archived or (log.size, log.mtime_ns) == (found.size, found.mtime_ns):
            file.seen = found
        _use(path)

    def loaded(self, files: Iterable[EventFile]) -> None:
        """Files were read: what is new in them shall be kept."""
        now = time.monotonic()
        with self._lock:
            for file in files:
                if file.seen is None or file.seen.size < _LEAST_BYTES or file.log.end not in _WHOLE:
                    continue
                self._waiting[_name(file, file.seen)] = _Waiting(file, file.log.offset, now)
            if self._waiting and self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._work, name="pulseboard-index", daemon=True)
                self._thread.start()
        self._news.set()

    def save(self) -> None:
        """Write all that is new, now."""
        with self._lock:
            names = list(self._waiting)
        self._write(names)

    def close(self) -> None:
        """Write all that is new, and end the thread."""
        self._closing.set()
        self._news.set()
        if self._thread is not None:
            self._thread.join()
        self.save()

    # ---- the thread

    def _work(self) -> None:
        while not self._closing.is_set():
            self._news.wait(_IDLE_SECS)
            self._news.clear()
            if not self._closing.wait(_GATHER_SECS):
                self._write(self._due())

    def _due(self) -> list[str]:
        """What has grown by its share since it was written, or has stopped growing."""
        now = time.monotonic()
        due = []
        with self._lock:
            for name, waiting in self._waiting.items():
                log = waiting.file.log
                generation, offset = self._saved.get(name, (-1, 0))
                if waiting.offset != log.offset:
                    waiting.offset, waiting.since = log.offset, now
                grown = log.generation != generation or log.offset - offset > _GROWN_SHARE * offset
                if grown or now - waiting.since > _IDLE_SECS:
                    due.append(name)
        return due

    def _write(self, names: list[str]) -> None:
        with self._saving:
            for name in names:
                if time.monotonic() < self._paused_until:
                    return
                with self._lock:
                    waiting = self._waiting.get(name)
                if waiting is None:
                    continue
                log = waiting.file.log
                state = (log.generation, log.offset)
                if self._saved.get(name) != state and log.end in _WHOLE:
                    try:
                        self._write_one(waiting.file, name)
                    except OSError as error:
                        self._stop_for_now(error)
                        return
                    self._saved[name] = state
                with self._lock:
                    if (log.generation, log.offset) == state and self._waiting.get(name) is waiting:
                        del self._waiting[name]
            self._sweep()

    def _write_one(self, file: EventFile, name: str) -> None:
        path = self._top / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._check_room(file)
        part = path.with_name(f"{path.name}{_PART}-{os.getpid()}-{threading.get_ident()}")
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            error = file.log.save(fd)
            size = os.fstat(fd).st_size
        finally:
            os.close(fd)
        if error:
            _remove(part)
            if error not in (errno.EAGAIN, errno.EILSEQ):
                raise OSError(error, os.strerror(error), str(part))
            return  # the file began anew, or the old index is damaged: whoever reads it next will notice
        try:
            os.replace(part, path)
        except OSError:
            _remove(part)
            raise
        self._unswept_bytes = None if self._unswept_bytes is None else self._unswept_bytes + size

    def _check_room(self, file: EventFile) -> None:
        usage = shutil.disk_usage(self._top)
        keep = min(_KEEP_FREE_BYTES, int(usage.total * _KEEP_FREE_SHARE))
        if usage.free - file.log.held_bytes < keep:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._top))

    def _stop_for_now(self, error: OSError) -> None:
        self.problem = (
            f"The index is not written for {_PAUSE_SECS / 60:g} minutes: {error.strerror}. Answers stay right; the "
            f"next start reads more. Free some space, or set XDG_CACHE_HOME to another disk. {self._top}"
        )
        self._paused_until = time.monotonic() + _PAUSE_SECS

    # ---- the bound

    def _sweep(self) -> None:
        """Remove what was not used for longest, until the index is within its bound; and what killed processes left."""
        if self._unswept_bytes is not None and self._unswept_bytes < self.most_bytes // 20:
            return
        kept: list[tuple[float, int, str]] = []
        now = time.time()
        # Those of other versions too: nobody else bounds them.
        for top in self.directory.glob("index-*"):
            for path, stat in _files_below(str(top)):
                if _PART in os.path.basename(path):
                    if now - stat.st_mtime > _LEFT_BEHIND_SECS:
                        _remove(path)
                else:
                    kept.append((stat.st_mtime, stat.st_size, path))
        total = sum(size for _, size, _ in kept)
        for _, size, path in sorted(kept):
            if total <= self.most_bytes:
                break
            _remove(path)
            total -= size
        self._unswept_bytes = 0


def _name(file: EventFile, found: FoundFile) -> str:
    """An index's path below its top. An archived file is read as a whole or not at all, so that its state is named."""
    device, inode = found.identity
    state = f"-{found.size:x}-{found.mtime_ns:x}" if file.archived else ""
    return f"{inode & 0xFF:02x}/{device:x}-{inode:x}{state}"


def _use(path: Path) -> None:
    """Note that an index is of use, so that others go before it."""
    try:
        if time.time() - path.stat().st_mtime > _USED_AGAIN_SECS:
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
        return  # removed by another process meanwhile


def _remove(path: str | Path) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
