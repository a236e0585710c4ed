"""Writes one event file, through full disks, removed directories and forks.

On a local file system a record has been handed to the operating system when the call returns, so a killed process
loses nothing. On a shared one, where a write may take seconds, records are queued and a thread writes them. Disk
errors are reported once; records wait in memory up to a limit and are written when the disk works again. Records that
do not fit are counted.
"""

from __future__ import annotations

import errno
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from pulseboard.core.plural import plural
from pulseboard.kernel.writer import EventWriter
from pulseboard.record.messages import warn
from pulseboard.rundir import mounts
from pulseboard.tbformat import event

# Kept in memory while the disk cannot be written: about two million scalars.
MAX_WAITING_BYTES = 64 << 20
_CHUNK_BYTES = 4 << 20
_LENGTH_BYTES = 8  # of a record's payload, in front of it
_FRAME_BYTES = 16  # that length, its checksum, and the checksum of the payload
# Tells apart files that one process creates in the same second. Zero-padded, since readers sort files by name.
_count = itertools.count()


class EventFileWriter:
    """Writes a TensorBoard event file. All scalars of a call go into one Event, in one write."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        suffix: str = "",
        buffered: bool | None = None,
        fsync_secs: float = 30.0,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        strict: bool = False,
        wide: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write to a new file in `directory`. `wide` stores values that float32 cannot hold as doubles.

        `buffered` leaves the writing to `tick`; None means: only on file systems that other machines share. Call `tick`
        about once per second: it writes what waits and maintains the file.
        """
        self.directory = os.path.abspath(directory)  # the training may change its working directory
        self.suffix = suffix
        self.path = ""
        self.dropped_records = 0
        self._buffered = buffered
        self._strict = strict
        self._wide = wide
        self._fsync_secs = fsync_secs
        self._max_waiting_bytes = max_waiting_bytes
        self._max_queued_bytes = max_waiting_bytes  # without what the worker has taken from the queue
        self._clock = clock
        self._error_code = 0  # errno of what keeps the file from being written; 0 if nothing does
        self._synced_at = clock()
        self._fd = -1
        self._taken = b""  # from the queue, partly or not yet written; begins with a whole record
        self._taken_written = 0  # bytes of it that are in the file
        self._size = 0  # bytes in the file, while the queue is not attached to it
        self._file_lock = threading.RLock()  # held during maintenance; never by `scalars`
        self._queue = EventWriter(wide=self._wide)
        self._queue.record(event.version_event(wall_time=time.time()))
        self.tick()

    # ---- logging

    def scalars(self, values: dict[str, Any], step: int, wall: float, convert: Callable[[Any], float | None]) -> Any:
        """Log one Event of numbers; see EventWriter.scalars. Returns the values that are not numbers."""
        queue = self._queue
        if queue.queued_bytes > self._max_queued_bytes:
            self.dropped_records += 1
            return None
        rest = queue.scalars(values, step, wall, convert)
        if error := queue.write():
            self._fail(error)
        return rest

    def record(self, payload: bytes, step: int | None = None) -> None:
        """Log one encoded Event. `step` is for the placeholders, which have the same method."""
        queue = self._queue
        # Media are large, so their own size counts too. One that exceeds the limit by itself is kept nevertheless.
        if queue.queued_bytes and queue.queued_bytes + len(payload) > self._max_queued_bytes:
            self.dropped_records += 1
            return
        queue.record(payload)
        if error := queue.write():
            self._fail(error)

    # ---- maintenance

    def tick(self) -> None:
        """Write what waits, restore a file that was removed, and sync now and then."""
        with self._file_lock:
            if self._fd < 0:
                self._open()
            elif self._removed():
                self._restore()
            if self._fd >= 0 and not self._queue.attached:
                self._write_waiting()
            now = self._clock()
            if self._fd >= 0 and now - self._synced_at >= self._fsync_secs:
                self._synced_at = now
                self._sync()

    def flush(self) -> None:
        """Write what waits, and sync."""
        with self._file_lock:
            self.tick()
            if self._fd >= 0:
                self._sync()

    def close(self) -> None:
        """Write what waits, and close. What cannot be written now is lost, and reported."""
        with self._file_lock:
            self.flush()
            self._detach()
            self._drop_waiting()
            self._close_file()

    def after_fork(self) -> None:
        """In a forked child: the file and what waits are the parent's; write to a new file."""
        self._file_lock = threading.RLock()
        self._close_file()
        self._taken, self._taken_written, self._size, self._error_code, self.dropped_records = b"", 0, 0, 0, 0
        self._max_queued_bytes = self._max_waiting_bytes
        self._queue = EventWriter(wide=self._wide)
        self._queue.record(event.version_event(wall_time=time.time()))
        self.tick()

    # ---- the file itself

    def _open(self) -> None:
        host = socket.gethostname().replace("/", "_") or "host"
        started = max(int(time.time()), self._newest_start() + 1)
        name = f"events.out.tfevents.{started:010d}.{host}.{os.getpid()}.{next(_count):04d}{self.suffix}"
        path = os.path.join(self.directory, name)
        fd = self._create(path)
        if fd >= 0:
            self.path, self._fd, self._size = path, fd, 0
            if self._buffered is None:
                self._buffered = not mounts.is_local(self.directory)

    def _newest_start(self) -> int:
        """The time in the name of the directory's newest event file.

        Readers sort files by name, so a file that continues a run within the same second must come later.
        """
        try:
            names = os.listdir(self.directory)
        except OSError:
            return 0
        times = [name.split("tfevents.")[1].split(".")[0] for name in names if "tfevents." in name]
        # Also names from the future: the clock may have been set back since. Ten digits last until the year 2286.
        return max((int(t) for t in times if t.isdigit() and len(t) <= 10), default=0)

    def _create(self, path: str) -> int:
        try:
            os.makedirs(self.directory, exist_ok=True)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError as error:
            self._fail(error.errno or errno.EIO)
            return -1

    def _write_waiting(self) -> None:
        """Write the queue, releasing the GIL; then let `scalars` and `record` write by themselves, unless buffered."""
        self._detach()
        while True:
            if self._taken_written == len(self._taken):
                self._take()
            if not self._taken:
                break
            try:
                # At a known offset, to overwrite half a record that a failed write may have left.
                written = os.pwrite(self._fd, memoryview(self._taken)[self._taken_written :], self._size)
            except OSError as error:
                self._fail(error.errno or errno.EIO)
                return
            self._size += written
            self._taken_written += written
        self._recover()
        if not self._buffered:
            self._queue.attach(self._fd, self._size)

    def _take(self) -> None:
        """Take the next piece of the queue. All records in it are whole: the rest of the last one is taken too."""
        self._taken, self._taken_written = self._queue.take(_CHUNK_BYTES), 0
        ends = 0
        while ends < len(self._taken):
            if len(self._taken) - ends < _LENGTH_BYTES:
                self._taken += self._queue.take(_LENGTH_BYTES)
            ends += _FRAME_BYTES + int.from_bytes(self._taken[ends : ends + _LENGTH_BYTES], "little")
        self._taken += self._queue.take(ends - len(self._taken))
        self._max_queued_bytes = self._max_waiting_bytes - len(self._taken)

    def _drop_waiting(self) -> None:
        """Count what could not be written to the end."""
        lost_bytes = lost_records = 0
        while self._taken or self._queue.queued_bytes:
            at = 0
            while at < len(self._taken):
                size = _FRAME_BYTES + int.from_bytes(self._taken[at : at + _LENGTH_BYTES], "little")
                if at + size > self._taken_written:
                    lost_records += 1
                    lost_bytes += size
                at += size
            self._take()
        if lost_records:
            self.dropped_records += lost_records
            what = f"{plural(lost_records, 'record')} ({plural(lost_bytes, 'byte')})"
            warn(f"Lost {what} of the log, which could not be written. {self.path or self.directory}")

    def _detach(self) -> None:
        """Let calls only queue. While the queue writes to the file itself, only the queue has the file's size."""
        self._queue.detach()
        self._size = max(self._size, self._queue.offset)

    def _removed(self) -> bool:
        try:
            return os.fstat(self._fd).st_nlink == 0
        except OSError:
            return True

    def _restore(self) -> None:
        """Write the file again. It was deleted, but its bytes can still be read through our descriptor."""
        self._detach()
        fd = self._create(self.path)
        if fd < 0:
            return  # the next tick retries
        try:
            at = 0
            while at < self._size and (chunk := os.pread(self._fd, min(_CHUNK_BYTES, self._size - at), at)):
                at += os.pwrite(fd, chunk, at)
        except OSError as error:
            os.close(fd)
            os.unlink(self.path)
            self._fail(error.errno or errno.EIO)
            return
        warn(f"The event file was removed. It has been written again, with all its records. {self.path}")
        os.close(self._fd)
        self._fd = fd

    def _fail(self, code: int) -> None:
        """Report the error once; `tick` tries again. Takes no lock: the training loop may be the caller."""
        if not self._error_code:
            warn(
                f"Cannot write the log: {os.strerror(code)}. Training continues; records are kept in memory and "
                f"written as soon as possible. {self.path or self.directory}"
            )
        self._error_code = code
        if self._strict:
            raise OSError(code, os.strerror(code), self.path or self.directory)

    def _recover(self) -> None:
        if self._error_code:
            self._error_code = 0
            dropped = self.dropped_records
            lost = f" Lost {plural(dropped, 'record')}, which did not fit in memory." if dropped else ""
            warn(f"The log is being written again.{lost} {self.path}")

    def _sync(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError:
            pass  # the next write will report it

    def _close_file(self) -> None:
        if self._fd >= 0:
            try:
                os.close(self._fd)
            except OSError:
                pass
            self._fd = -1
