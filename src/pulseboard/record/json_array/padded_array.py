"""A JSON array on disk that is valid at every moment: for a reader, and after kill -9.

    [
    {"log": "step", ...},
    {"log": "step", ...}                      spaces, the room for new records ]

The closing bracket is far behind the last record, and new records overwrite the spaces between them. Each record is
one pwrite within one page of 4096 bytes. Linux checks for fatal signals between the pages of a write but not within
one, so after a kill the record is there entirely or not at all. A record that would cross a page boundary starts at
the next page, and the spaces before it stay. Such a write never makes the file longer, so it needs no disk space.

When the room runs out, a copy with more room is written next to the file and renamed over it. There is no other way:
moving the bracket from one page to another changes both pages, and between the two changes the array has two brackets
or none. The copy is made ahead of need by `maintain`, and by `append` itself only if that comes too late. `trim`
leaves a file without the spaces.

We tried overwriting the bracket instead, with a comma, the record and the bracket again: next to a writer of 2,000
records per second, 1 read in 80 saw a torn file, since a reader gets the file's length first and its bytes later.

What remains. A reader that copies a page during the nanoseconds in which it is written may see half a record, and the
whole record when it reads again: 1 read in 7,000 next to a writer of 5,000 records per second, 1 in millions at the
speed of a training loop. A record longer than a page is written together with a copy of the file; in files above
16 MiB it is written straight into the room, where a kill between two pages tears it. If no copy can be made (no
space, no write permission in the directory, the file was moved) the bracket is moved in place: two writes of one
byte, and a kill exactly between them leaves an extra bracket. Opening a torn file again repairs it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator

from pulseboard.core.plural import plural
from pulseboard.record.json_array import file_operations
from pulseboard.record.messages import warn
from pulseboard.rundir import json_log
from pulseboard.rundir.json_log_repair import complete_records, is_valid_array

# The smallest page size; other sizes are multiples of it.
PAGE_BYTES = 4096
MAX_LINE_BYTES = PAGE_BYTES - 2
"""A record up to this length is written within one page, together with the comma and line break before it."""

# Room for a few hundred records at first, later a quarter of the file: so copying costs the same for every record.
_MIN_ROOM_BYTES = 128 << 10
_MAX_ROOM_BYTES = 64 << 20
# A file up to this size is parsed when it is opened again, which takes about a second; of a longer file only the end.
_MAX_PARSED_BYTES = 64 << 20
# In a file up to this size, a record longer than a page is written together with a copy.
_MAX_COPIED_BYTES = 16 << 20
_LOCK_TIMEOUT_SECS = 0.5
_COPY_RETRY_SECS = 60.0
_SYNC_SECS = 30.0
_MAX_OPEN_ATTEMPTS = 200

_START, _END = b"[\n", b"\n]\n"


class PaddedArray:
    """The file. One thread at a time may call `append`; the other methods may be called from any thread."""

    def __init__(self, path: str, *, clock: Callable[[], float]) -> None:
        self.path = path
        self.when_low: Callable[[], object] | None = None  # called when half of the room is used
        self._given_path = path
        self._lock_timeout_secs = _LOCK_TIMEOUT_SECS
        self._clock = clock
        self._prepare()

    def _prepare(self) -> None:
        self._layout = threading.Condition(threading.Lock())  # guards the following, up to _copying
        self._fd = -1
        self._end = 0  # of the last record
        self._bracket = 0  # position of the closing bracket
        self._low_at = 0  # when the records reach this byte, more room should be made
        self._empty = True
        self._low_reported = False
        self._copying = False  # a thread that does not hold _layout is making a copy
        self._temporary_fds: set[int] = set()  # open only while a copy is made
        self._next_copy_at = 0.0
        self._synced_at = self._clock()
        self._unsynced = False

    @property
    def is_open(self) -> bool:
        """Whether the file is open."""
        return self._fd >= 0

    @property
    def room_bytes(self) -> int:
        """The space left for records."""
        return self._bracket - self._end

    # ---- writing

    def append(self, line: bytes) -> None:
        """Write one record. Raises OSError, and then the array is as before."""
        with self._layout:
            self._append(line)

    def _append(self, line: bytes) -> None:
        while True:
            piece = line if self._empty else b",\n" + line
            at = self._end
            if len(piece) > PAGE_BYTES and at <= _MAX_COPIED_BYTES:
                if self._copying:
                    self._layout.wait()
                    continue
                if self._copy_with(piece):
                    return
            elif at % PAGE_BYTES + len(piece) > PAGE_BYTES >= len(piece):
                at += -at % PAGE_BYTES
            if at + len(piece) <= self._bracket:
                break
            self._make_room(at + len(piece) - self._end)
        written = os.pwrite(self._fd, piece, at)
        if written < len(piece):
            os.pwrite(self._fd, b" " * written, at)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._end, self._empty, self._unsynced = at + written, False, True
        if self._end >= self._low_at and not self._low_reported and self.when_low is not None:
            self._low_reported = True
            self.when_low()

    # ---- maintenance

    def maintain(self) -> None:
        """Make room ahead of need, restore a file that was removed, and sync now and then. Never raises OSError."""
        try:
            if os.fstat(self._fd).st_nlink == 0:
                self._restore()
            elif self._end >= self._low_at and self._clock() >= self._next_copy_at:
                self._copy_in_background(_room_for(self._end))
            now = self._clock()
            if self._unsynced and now - self._synced_at >= _SYNC_SECS:
                self._synced_at, self._unsynced = now, False
                os.fsync(self._fd)
        except OSError:
            self._next_copy_at = self._clock() + _COPY_RETRY_SECS  # and the next write will report it

    def sync(self) -> None:
        """Have the operating system write the file to disk."""
        with contextlib.suppress(OSError):
            if self._fd >= 0:
                os.fsync(self._fd)

    def trim(self) -> None:
        """Remove the spaces. If that fails they stay, and do no harm."""
        with contextlib.suppress(OSError):
            self._copy_in_background(0)

    def close(self) -> None:
        """Close the file."""
        with self._layout:
            self._close_fd()

    def after_fork(self) -> None:
        """In a forked child: the file is the parent's. Opening it again opens this file or one of the child's own."""
        for fd in (self._fd, *self._temporary_fds):
            if fd >= 0:
                os.close(fd)
        self.path = self._given_path
        self._lock_timeout_secs = 0.0  # the parent has the lock, and keeps it
        self._prepare()

    def _close_fd(self) -> None:
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            self._close_fd()

    # ---- opening

    def open(self) -> None:
        """Open the file, or create it; if another process has it, open one next to it. Raises OSError."""
        for _ in range(_MAX_OPEN_ATTEMPTS):
            try:
                fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                self._create()
            else:
                self._open_existing(fd)
            if self._fd >= 0:
                return
            time.sleep(0.001)  # another process is creating or replacing it right now: try again
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    def _create(self) -> None:
        with contextlib.suppress(BlockingIOError), self._new_copy() as new:
            if not os.path.exists(self.path):
                self._fill(new, _START, end=len(_START), room=_MIN_ROOM_BYTES)
                self._replace(new, end=len(_START), room=_MIN_ROOM_BYTES)

    def _open_existing(self, fd: int) -> None:
        """Continue an existing file, unless another process has it or it was just replaced."""
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            if not file_operations.lock_within(fd, self._lock_timeout_secs):
                self.path = file_operations.path_for_process(self._given_path)
                warn(f"Another process is writing this JSON log. The records of this process go to {self.path}")
            elif file_operations.is_at(fd, self.path):
                self._continue(fd)
        finally:
            if self._fd != fd:
                os.close(fd)

    def _continue(self, fd: int) -> None:
        size = os.fstat(fd).st_size
        if size == 0:
            os.unlink(self.path)
            return
        short = size <= _MAX_PARSED_BYTES
        # Of a long file, enough to see past the room.
        data = file_operations.read_bytes(fd, 0 if short else size - 2 * _MAX_ROOM_BYTES, size)
        array = data.rstrip()
        records = array[:-1].rstrip()
        valid = is_valid_array(data) if short else array.endswith(b"]") and records.endswith(b"}")
        if not valid:
            self._repair(data if short else file_operations.read_bytes(fd, 0, size))
            return
        skipped = size - len(data)
        self._set_layout(end=skipped + len(records), bracket=skipped + len(array) - 1)
        self._empty = records.endswith(b"[")
        self._fd = fd

    def _repair(self, data: bytes) -> None:
        """Replace the file by one with its complete records, and keep the damaged one under another name."""
        lines = complete_records(data)
        body = _START + ",\n".join(lines).encode()
        room = _room_for(len(body))
        with self._new_copy() as new:
            self._fill(new, body, end=len(body), room=room)
            os.fsync(new)
            damaged = file_operations.keep_under_another_name(self.path, self.path + json_log.DAMAGED_SUFFIX, data=data)
            self._empty = not lines
            self._replace(new, end=len(body), room=room)
        warn(
            f"The JSON log was damaged. {plural(len(lines), 'complete record')} kept; logging continues, and "
            f"the damaged file is kept as {damaged}"
        )

    # ---- room, and copies with more of it

    def _make_room(self, needed_bytes: int) -> None:
        """Make at least `needed_bytes` of room, or wait for the copy that is being made."""
        if self._copying:
            self._layout.wait()
            return
        if self._clock() >= self._next_copy_at:
            try:
                self._copy(max(_room_for(self._end), needed_bytes))
                return
            except OSError:
                # A copy may fail after much work, when the disk is full: do not try again for every page.
                self._next_copy_at = self._clock() + _COPY_RETRY_SECS
        self._move_bracket(max(_MIN_ROOM_BYTES, needed_bytes))

    def _copy(self, room: int, *, more: bytes = b"") -> None:
        """Replace the file by a copy with more room, and optionally one more record."""
        with self._new_copy() as new:
            file_operations.copy_bytes(self._fd, new, 0, self._end)
            end = self._end + len(more)
            self._fill(new, more, end=end, room=room)
            os.fsync(new)
            self._replace(new, end=end, room=room)

    def _copy_with(self, piece: bytes) -> bool:
        """Add a record longer than a page; False if no copy can be made."""
        try:
            self._copy(_room_for(self._end), more=piece)
        except OSError:
            return False
        self._empty, self._unsynced = False, True
        return True

    def _copy_in_background(self, room: int) -> None:
        """Replace the file by a copy while other threads keep logging: what is written does not change."""
        with self._layout:
            if self._copying or self._fd < 0:
                return
            self._copying, end, source = True, self._end, os.dup(self._fd)
            self._temporary_fds.add(source)
        try:
            with self._new_copy() as new:
                file_operations.copy_bytes(source, new, 0, end)
                self._fill(new, b"", end=end, room=room)
                os.fsync(new)
                with self._layout:
                    if self._end <= end + room:
                        file_operations.copy_bytes(source, new, end, self._end)
                        self._replace(new, end=self._end, room=room - (self._end - end))
        finally:
            self._temporary_fds.discard(source)
            os.close(source)
            with self._layout:
                self._copying = False
                self._layout.notify_all()

    @contextlib.contextmanager
    def _new_copy(self) -> Iterator[int]:
        """An empty file next to ours, which is deleted again unless it replaces ours."""
        path = self.path + json_log.NEW_SUFFIX
        if self._fd >= 0 and os.fstat(self._fd).st_nlink and not file_operations.is_at(self._fd, self.path):
            # Someone moved our file. We keep writing to it there, and put nothing in its old place.
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        new = file_operations.open_empty(path)
        self._temporary_fds.add(new)
        try:
            if self._fd >= 0:
                with contextlib.suppress(OSError):
                    os.fchmod(new, stat.S_IMODE(os.fstat(self._fd).st_mode))
            yield new
        finally:
            self._temporary_fds.discard(new)
            if self._fd != new:
                with contextlib.suppress(OSError):
                    os.unlink(path)
                os.close(new)

    def _fill(self, fd: int, records: bytes, *, end: int, room: int) -> None:
        """Write `records` so that they end at `end`, then the room and the bracket."""
        file_operations.write_bytes(fd, records + b" " * room + _END, end - len(records))

    def _replace(self, new: int, *, end: int, room: int) -> None:
        os.rename(self.path + json_log.NEW_SUFFIX, self.path)
        old, self._fd = self._fd, new
        self._set_layout(end=end, bracket=end + room + _END.index(b"]"))
        if old >= 0:
            os.close(old)

    def _set_layout(self, *, end: int, bracket: int) -> None:
        self._end, self._bracket, self._low_reported = end, bracket, False
        self._low_at = bracket - _room_for(end) // 2

    def _move_bracket(self, room: int) -> None:
        """Make room without a copy. Spaces after the bracket come first: they are valid there, and may not fit."""
        size = os.fstat(self._fd).st_size
        bracket = self._bracket + room
        file_operations.write_bytes(self._fd, b" " * (bracket + 1 - size), size)
        os.pwrite(self._fd, b"]", bracket)
        os.pwrite(self._fd, b" ", self._bracket)
        self._set_layout(end=self._end, bracket=bracket)

    def _restore(self) -> None:
        """Write the file again. It was deleted, but its bytes can still be read through our descriptor."""
        if os.path.exists(self.path):  # and another file was put in its place
            self.path = file_operations.unused_path(file_operations.path_for_process(self._given_path))
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self._copy_in_background(_room_for(self._end))
        warn(f"The JSON log was removed. It has been written again, with all its records. {self.path}")


def _room_for(size: int) -> int:
    return min(_MAX_ROOM_BYTES, max(_MIN_ROOM_BYTES, size // 4))
