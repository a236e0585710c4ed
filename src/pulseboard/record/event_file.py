"""One event file being written, through full disks, removed directories and forks.

On a local file system every call is in the system's hands when it returns, so a killed process loses
nothing. On a shared one, where a write may take seconds, records are queued and a thread writes them.
Trouble with the disk is said once, what it concerns is kept within a bound and written when it goes
again, and what did not fit is counted.
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

from pulseboard.files import event, mounts
from pulseboard.native import kernel
from pulseboard.record.report import say

# Kept in memory while the disk cannot take it: some two million scalars.
MOST_WAITING_BYTES = 64 << 20
_PIECE = 1 << 20
# Files of one process made in the same second differ by this; readers go by the order of names, so zeros come first.
_count = itertools.count()


class EventFile:
    """A TensorBoard event file. All scalars of a call go into one Event, in one write."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        suffix: str = "",
        buffered: bool | None = None,
        fsync_secs: float = 30.0,
        most_waiting_bytes: int = MOST_WAITING_BYTES,
        strict: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write to a new file in `directory`. `buffered` is chosen by the file system where it is None.

        `tick` must be called now and then: it writes what waits, and looks after the file.
        """
        self.directory = os.fspath(directory)
        self.suffix = suffix
        self.path = ""
        self.dropped_records = 0
        self._buffered = buffered
        self._strict = strict
        self._fsync_secs = fsync_secs
        self._most_waiting_bytes = most_waiting_bytes
        self._clock = clock
        self._trouble = 0  # errno of what keeps the file from being written
        self._synced_at = clock()
        self._fd = -1
        self._in_hand = b""  # taken from the queue, not yet written
        self._size = 0  # bytes in the file, while the queue is not attached to it
        self._care = threading.RLock()  # held while the file is looked after; never by `scalars`
        self._queue = kernel.EventWriter()
        self._queue.record(event.version_event(wall_time=time.time()))
        self.tick()

    # ---- logging

    def scalars(self, values: dict[str, Any], step: int, wall: float, convert: Callable[[Any], float | None]) -> Any:
        """Log one Event of numbers; see kernel.EventWriter.scalars. Gives back what `convert` left out."""
        queue = self._queue
        if queue.waiting > self._most_waiting_bytes:
            self.dropped_records += 1
            return None
        left = queue.scalars(values, step, wall, convert)
        if error := queue.write():
            self._fail(error)
        return left

    def record(self, payload: bytes, step: int | None = None) -> None:
        """Log one Event that is encoded already. Its step is told to whoever stands in for the file."""
        queue = self._queue
        if queue.waiting > self._most_waiting_bytes:
            self.dropped_records += 1
            return
        queue.record(payload)
        if error := queue.write():
            self._fail(error)

    # ---- looking after the file

    def tick(self) -> None:
        """Write what waits, notice a file that was removed, and sync now and then."""
        with self._care:
            if self._fd < 0:
                self._open()
            elif self._removed():
                self._rescue()
            if self._fd >= 0 and not self._queue.attached:
                self._write_waiting()
            now = self._clock()
            if self._fd >= 0 and now - self._synced_at >= self._fsync_secs:
                self._synced_at = now
                self._sync()

    def flush(self) -> None:
        """Write what waits, and sync."""
        with self._care:
            self.tick()
            if self._fd >= 0:
                self._sync()

    def close(self) -> None:
        """Write what waits, and close. What cannot be written now is lost, and said."""
        with self._care:
            self.flush()
            self._let_go()
            if lost := self._queue.waiting + len(self._in_hand):
                say(f"{lost} bytes of the log could not be written and are lost. {self.path or self.directory}")
            self._close_file()

    def begin_anew(self) -> None:
        """In a forked child: the file and what waits are the parent's; write to a file of our own."""
        self._care = threading.RLock()
        self._close_file()
        self._in_hand, self._size, self._trouble, self.dropped_records = b"", 0, 0, 0
        self._queue = kernel.EventWriter()
        self._queue.record(event.version_event(wall_time=time.time()))
        self.tick()

    # ---- the file itself

    def _open(self) -> None:
        host = socket.gethostname().replace("/", "_") or "host"
        began = max(int(time.time()), self._last_began() + 1)
        name = f"events.out.tfevents.{began:010d}.{host}.{os.getpid()}.{next(_count):04d}{self.suffix}"
        path = os.path.join(self.directory, name)
        fd = self._create(path)
        if fd >= 0:
            self.path, self._fd, self._size = path, fd, 0
            if self._buffered is None:
                self._buffered = not mounts.is_local(self.directory)

    def _last_began(self) -> int:
        """The time in the name of the directory's newest event file.

        Files are read in the order of their names: one that goes on with a run within the same second must come after.
        """
        try:
            names = os.listdir(self.directory)
        except OSError:
            return 0
        times = [name.split("tfevents.")[1].split(".")[0] for name in names if "tfevents." in name]
        # A name from a clock that was years ahead must not carry ours along.
        return max((int(t) for t in times if t.isdigit() and int(t) <= time.time() + 60), default=0)

    def _create(self, path: str) -> int:
        try:
            os.makedirs(self.directory, exist_ok=True)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError as error:
            self._fail(error.errno or errno.EIO)
            return -1

    def _write_waiting(self) -> None:
        """Write the queue with the GIL let go; then let calls write by themselves, where that is the mode."""
        self._let_go()
        while True:
            self._in_hand = self._in_hand or self._queue.take()
            if not self._in_hand:
                break
            try:
                # At a known offset: half a record that a failed write left is written over.
                done = os.pwrite(self._fd, self._in_hand, self._size)
            except OSError as error:
                self._fail(error.errno or errno.EIO)
                return
            self._size += done
            self._in_hand = self._in_hand[done:]
        self._recovered()
        if not self._buffered:
            self._queue.attach(self._fd, self._size)

    def _let_go(self) -> None:
        """Have calls queue only. The queue knows the file's size while, and since, it wrote to it."""
        self._queue.detach()
        self._size = max(self._size, self._queue.offset)

    def _removed(self) -> bool:
        try:
            return os.fstat(self._fd).st_nlink == 0
        except OSError:
            return True

    def _rescue(self) -> None:
        """The file was deleted under us. Its bytes live on behind our handle: copy them to a new file."""
        self._let_go()
        fd = self._create(self.path)
        if fd < 0:
            return  # the next tick tries again
        try:
            at = 0
            while at < self._size and (piece := os.pread(self._fd, min(_PIECE, self._size - at), at)):
                at += os.pwrite(fd, piece, at)
        except OSError as error:
            os.close(fd)
            os.unlink(self.path)
            self._fail(error.errno or errno.EIO)
            return
        say(f"The event file had been removed and was written anew, with all it held. {self.path}")
        os.close(self._fd)
        self._fd = fd

    def _fail(self, code: int) -> None:
        """Say it once; `tick` tries again. Takes no lock: the training loop may be the caller."""
        if not self._trouble:
            say(
                f"Cannot write the log: {os.strerror(code)}. Training goes on; records are kept in memory and "
                f"written when it works again. {self.path or self.directory}"
            )
        self._trouble = code
        if self._strict:
            raise OSError(code, os.strerror(code), self.path or self.directory)

    def _recovered(self) -> None:
        if self._trouble:
            self._trouble = 0
            lost = f" {self.dropped_records} records did not fit and are lost." if self.dropped_records else ""
            say(f"The log is being written again.{lost} {self.path}")

    def _sync(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError:
            pass  # the next write will tell

    def _close_file(self) -> None:
        if self._fd >= 0:
            try:
                os.close(self._fd)
            except OSError:
                pass
            self._fd = -1
