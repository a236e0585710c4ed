"""The JSON log being written: records go to a padded array on disk, or wait in memory while the disk is unusable."""

from __future__ import annotations

import errno
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable

from pulseboard.core.plural import plural
from pulseboard.record.json_array.padded_array import PaddedArray
from pulseboard.record.messages import warn
from pulseboard.rundir import mounts

# Kept in memory while the disk cannot take it.
MAX_WAITING_BYTES = 64 << 20

_RETRY_SECS = 1.0


class JsonFile:
    """A JSON array of records. A record is in the file when `append` returns, unless the file is buffered."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        buffered: bool | None = None,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        strict: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Append to the array at `path`, or create it. A damaged file is repaired first.

        `buffered` leaves the writing to `tick`; None means: only on file systems that other machines share. Call
        `tick` about once per second, best from another thread, and soon after `when_low` was called. For several
        loggers with the same file, see `open_shared`.
        """
        self.dropped_records = 0
        self.closed = False
        self.given_path = os.path.realpath(path)
        self._array = PaddedArray(self.given_path, clock=clock)
        self._buffered = buffered
        self._strict = strict
        self._max_waiting_bytes = max_waiting_bytes
        self._clock = clock
        self._users = 1
        self._prepare()
        _files.add(self)
        try:
            self._open()
        except OSError as error:
            self._fail(error)

    def _prepare(self) -> None:
        self._write_lock = threading.Lock()  # held by the thread that writes the waiting records
        self._writing_thread = 0
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._reported_drops = 0  # of the dropped records
        self._error_code = 0  # errno of what keeps the file from being written
        self._retry_at = 0.0

    @property
    def path(self) -> str:
        """Where the records go: the path that was given, unless another process is writing there."""
        return self._array.path

    @property
    def room_bytes(self) -> int:
        """The space in the file for more records."""
        return self._array.room_bytes

    @property
    def when_low(self) -> Callable[[], object] | None:
        """Called when half of the room in the file is used, so that `tick` can make more in time."""
        return self._array.when_low

    @when_low.setter
    def when_low(self, callback: Callable[[], object] | None) -> None:
        self._array.when_low = callback

    # ---- logging

    def append(self, line: str) -> None:
        """Add one record, encoded as JSON without a line break."""
        data = line.encode()
        if self.closed:
            return
        if self._waiting_bytes + len(data) > self._max_waiting_bytes:
            self.dropped_records += 1
            return
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if not self._buffered:
            self._write_waiting()

    def _write_waiting(self, *, retry_now: bool = False) -> None:
        thread = threading.get_ident()
        while thread != self._writing_thread:  # a signal handler leaves its record to the write that it interrupted
            if self._error_code and not retry_now and self._clock() < self._retry_at:
                return
            with self._write_lock:
                self._writing_thread = thread
                try:
                    self._write_all()
                except OSError as error:
                    self._fail(error)
                    return
                finally:
                    self._writing_thread = 0
            if not self._waiting or self.closed:
                return

    def _write_all(self) -> None:
        if self.closed or not self._waiting:
            return
        if not self._array.is_open:
            self._open()
        while self._waiting:
            line = self._waiting[0]
            self._array.append(line)
            self._waiting.popleft()
            self._waiting_bytes -= len(line)
        if self._error_code:
            self._recover()

    def _open(self) -> None:
        directory = os.path.dirname(self._array.path)
        os.makedirs(directory, exist_ok=True)
        if self._buffered is None:
            self._buffered = not mounts.is_local(directory)
        self._array.open()

    # ---- maintenance

    def tick(self) -> None:
        """Write what waits, make room ahead of need, restore a file that was removed, and sync now and then."""
        if self._waiting:
            self._write_waiting()
        if self._array.is_open:
            self._array.maintain()

    def flush(self) -> None:
        """Write what waits, and sync."""
        self._write_waiting(retry_now=True)
        self._array.sync()

    def close(self) -> None:
        """Write what waits, remove the spaces, and close. What cannot be written now is lost, and reported."""
        self._users -= 1
        if self._users > 0 or self.closed:
            return
        self._write_waiting(retry_now=True)
        if self._array.is_open:
            self._array.trim()
        self.closed = True
        self._array.close()
        if lost := self.dropped_records - self._reported_drops + len(self._waiting):
            warn(f"Lost {plural(lost, 'record')} of the JSON log, which could not be written. {self.path}")

    def share(self) -> JsonFile:
        """This file for one more user; each user closes it."""
        self._users += 1
        return self

    def after_fork(self) -> None:
        """In a forked child: the file is the parent's. The child's first record opens it, or a file of its own."""
        self.dropped_records = 0
        self._array.after_fork()
        self._prepare()

    # ---- errors

    def _fail(self, error: OSError) -> None:
        """Report the error once; the first call after a second tries again."""
        if not self._error_code:
            warn(
                f"Cannot write the JSON log: {error.strerror}. Training continues; records are kept in memory and "
                f"written as soon as possible. {self.path}"
            )
        self._error_code = error.errno or errno.EIO
        self._retry_at = self._clock() + _RETRY_SECS
        if self._strict:
            raise error

    def _recover(self) -> None:
        lost, self._reported_drops = self.dropped_records - self._reported_drops, self.dropped_records
        lost_words = f" Lost {plural(lost, 'record')}, which did not fit in memory." if lost else ""
        self._error_code = 0
        warn(f"The JSON log is being written again.{lost_words} {self.path}")


# ---------- one writer per path

_files: weakref.WeakSet[JsonFile] = weakref.WeakSet()
_open_lock = threading.Lock()


def open_shared(path: str | os.PathLike[str], *, strict: bool = False) -> JsonFile:
    """The process's one writer of this file: loggers with the same path append to one array, and each closes it."""
    real = os.path.realpath(path)
    with _open_lock:
        for file in list(_files):
            if file.given_path == real and not file.closed:
                return file.share()
        return JsonFile(real, strict=strict)


def _after_fork() -> None:
    global _open_lock
    _open_lock = threading.Lock()
    for file in list(_files):
        file.after_fork()


os.register_at_fork(after_in_child=_after_fork)
