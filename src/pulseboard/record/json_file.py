"""One JSON array being appended to, whole at every moment: to a reader, and after kill -9.

    [
    {"log": "step", ...},
    {"log": "step", ...}                      spaces, the room for what comes ]

The closing bracket stands far behind the last record, and records are written over the spaces
between. Each is one pwrite within one page of 4096 bytes. Linux looks for a fatal signal between
the pages of a write and not within one, so a killed process leaves the record whole or not at all;
where a record would cross into the next page it begins there, and the spaces before it stay. Such a
write never makes the file longer, so it needs no new space on the disk.

When the room runs out, a copy with more room is made beside the file and renamed over it. There is
no other way: a bracket that moves from one page to another changes both, and between the two
changes the array has two brackets or none. The copy is made by `tick`, ahead of need, and by the
call itself only if that comes too late. `close` leaves a file without the spaces.

Writing over the bracket instead, a comma, the record and the bracket again, was tried: beside a
writer of two thousand records a second one read in eighty was torn, since a reader takes the length
first and the bytes then.

What remains. A reader that copies a page in the nanoseconds in which it is written may see half a
record, and a whole one when it reads again: one read in seven thousand beside a writer of five
thousand records a second, one in millions at the pace of a training loop. A record longer than a
page goes in with a copy of the file, and above 16 MiB straight into the room, where a kill between
two pages tears it. Where no copy can be made (no space, no rights in the directory, the file moved
away) the bracket is moved in place: two writes of a byte, and a kill just between them leaves one
bracket too many. Opening a torn file again mends it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator

from pulseboard.files import json_log, mounts
from pulseboard.record import beside
from pulseboard.record.report import say

# Kept in memory while the disk cannot take it.
MOST_WAITING_BYTES = 64 << 20

# The smallest page there is; pages of other sizes are multiples of it.
PAGE_BYTES = 4096
MOST_LINE_BYTES = PAGE_BYTES - 2
"""A record up to this length is written in one page, with the comma before it."""

# Room for a few hundred records at first, then a quarter of the file: copying stays a constant cost a record.
_LEAST_ROOM_BYTES = 128 << 10
_MOST_ROOM_BYTES = 64 << 20
# A file up to this size is parsed when it is opened again, in about a second; of a longer one, the end is looked at.
_MOST_PARSED_BYTES = 64 << 20
# A record longer than a page is written with a copy of a file up to this size.
_MOST_COPIED_BYTES = 16 << 20
_PATIENCE_SECS = 0.5
_RETRY_SECS = 1.0
_COPY_AGAIN_SECS = 60.0
_SYNC_SECS = 30.0
_MOST_ATTEMPTS = 200

_BEGIN, _END = b"[\n", b"\n]\n"


class JsonFile:
    """A JSON array of records. What `append` was given is in the file when it returns, unless it is buffered."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        buffered: bool | None = None,
        most_waiting_bytes: int = MOST_WAITING_BYTES,
        strict: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Append to the array at `path`, or begin one. A file that is no whole array is mended first.

        `buffered` leaves the writing to `tick`; where it is None, that is so on file systems that other
        machines share. `tick` must be called now and then, best by another thread, and soon after
        `when_low` was called. Several loggers of one file: see `shared`.
        """
        self.when_low: Callable[[], object] | None = None  # half the room is used
        self.path = os.path.realpath(path)
        self.dropped_records = 0
        self._asked_path = self.path
        self._buffered = buffered
        self._strict = strict
        self._most_waiting_bytes = most_waiting_bytes
        self._clock = clock
        self._users = 1
        self._closed = False
        self._patience_secs = _PATIENCE_SECS
        self._prepare()
        _files.add(self)
        try:
            self._open()
        except OSError as error:
            self._fail(error)

    def _prepare(self) -> None:
        self._writer = threading.Lock()  # held while a thread writes what waits
        self._writing_thread = 0
        self._layout = threading.Condition(threading.Lock())  # guards what follows, up to _copying
        self._fd = -1
        self._end = 0  # behind the last record
        self._bracket = 0  # where the closing bracket stands
        self._low_at = 0  # when the records reach this byte, more room should be made
        self._empty = True
        self._asked = False  # for more room
        self._copying = False  # a copy is being made by a thread that does not hold _layout
        self._in_passing: set[int] = set()  # files open for a copy only
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._said_lost = 0  # of the dropped records
        self._trouble = 0  # errno of what keeps the file from being written
        self._retry_at = 0.0
        self._copy_at = 0.0
        self._synced_at = self._clock()
        self._changed = False

    # ---- logging

    def append(self, line: str) -> None:
        """Add one record, encoded as JSON without a line break."""
        data = line.encode()
        if self._closed:
            return
        if self._waiting_bytes + len(data) > self._most_waiting_bytes:
            self.dropped_records += 1
            return
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if not self._buffered:
            self._write_waiting()

    def _write_waiting(self, *, at_once: bool = False) -> None:
        thread = threading.get_ident()
        while thread != self._writing_thread:  # a signal handler leaves its record to the write that it interrupted
            if self._trouble and not at_once and self._clock() < self._retry_at:
                return
            with self._writer:
                self._writing_thread = thread
                try:
                    self._write_all()
                except OSError as error:
                    self._fail(error)
                    return
                finally:
                    self._writing_thread = 0
            if not self._waiting or self._closed:
                return

    def _write_all(self) -> None:
        if self._closed or not self._waiting:
            return
        if self._fd < 0:
            self._open()
        while self._waiting:
            line = self._waiting[0]
            with self._layout:
                self._write(line)
            self._waiting.popleft()
            self._waiting_bytes -= len(line)
        if self._trouble:
            self._recovered()

    def _write(self, line: bytes) -> None:
        while True:
            piece = line if self._empty else b",\n" + line
            at = self._end
            if len(piece) > PAGE_BYTES and at <= _MOST_COPIED_BYTES:
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
        done = os.pwrite(self._fd, piece, at)
        if done < len(piece):
            os.pwrite(self._fd, b" " * done, at)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._end, self._empty, self._changed = at + done, False, True
        if self._end >= self._low_at and not self._asked and self.when_low is not None:
            self._asked = True
            self.when_low()

    # ---- looking after the file

    def tick(self) -> None:
        """Write what waits, make room ahead of need, notice a file that was removed, and sync now and then."""
        if self._waiting:
            self._write_waiting()
        if self._fd < 0:
            return
        try:
            if os.fstat(self._fd).st_nlink == 0:
                self._rescue()
            elif self._end >= self._low_at and self._clock() >= self._copy_at:
                self._copy_aside(_room_for(self._end))
            now = self._clock()
            if self._changed and now - self._synced_at >= _SYNC_SECS:
                self._synced_at, self._changed = now, False
                os.fsync(self._fd)
        except OSError:
            self._copy_at = self._clock() + _COPY_AGAIN_SECS  # and the next write will tell

    def flush(self) -> None:
        """Write what waits, and sync."""
        self._write_waiting(at_once=True)
        with contextlib.suppress(OSError):
            if self._fd >= 0:
                os.fsync(self._fd)

    def close(self) -> None:
        """Write what waits, take the spaces out, and close. What cannot be written now is lost, and said."""
        self._users -= 1
        if self._users > 0 or self._closed:
            return
        self._write_waiting(at_once=True)
        if self._fd >= 0:
            with contextlib.suppress(OSError):  # the spaces stay, and harm nobody
                self._copy_aside(0)
        self._closed = True
        with self._layout:
            self._let_go()
        if lost := self.dropped_records - self._said_lost + len(self._waiting):
            say(f"{lost} records of the JSON log could not be written and are lost. {self.path}")

    def begin_anew(self) -> None:
        """In a forked child: the file is the parent's. The child's first record opens it, or one of its own."""
        for fd in (self._fd, *self._in_passing):
            if fd >= 0:
                os.close(fd)
        self.path, self.dropped_records = self._asked_path, 0
        self._patience_secs = 0.0  # the parent holds it, and will
        self._prepare()

    # ---- opening

    def _open(self) -> None:
        """Open the file and make it ours; where another process has it, open one beside it."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if self._buffered is None:
            self._buffered = not mounts.is_local(os.path.dirname(self.path))
        for _ in range(_MOST_ATTEMPTS):
            try:
                fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                self._begin()
            else:
                self._adopt(fd)
            if self._fd >= 0:
                return
            time.sleep(0.001)  # another process is just beginning or replacing it: look again
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    def _begin(self) -> None:
        with contextlib.suppress(BlockingIOError), self._new_copy() as new:
            if not os.path.exists(self.path):
                self._fill(new, _BEGIN, end=len(_BEGIN), room=_LEAST_ROOM_BYTES)
                self._replace(new, end=len(_BEGIN), room=_LEAST_ROOM_BYTES)

    def _adopt(self, fd: int) -> None:
        """Go on with an existing file, if it can be had."""
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            if not beside.locked_within(fd, self._patience_secs):
                self.path = beside.name_of_process(self._asked_path)
                say(f"Another process writes this JSON log. The records of this one go to {self.path}")
            elif beside.is_at(fd, self.path):
                self._go_on(fd)
        finally:
            if self._fd != fd:
                os.close(fd)

    def _go_on(self, fd: int) -> None:
        size = os.fstat(fd).st_size
        if size == 0:
            os.unlink(self.path)
            return
        short = size <= _MOST_PARSED_BYTES
        # Of a long file enough to see behind the room.
        data = beside.read_bytes(fd, 0 if short else size - 2 * _MOST_ROOM_BYTES, size)
        shut = data.rstrip()
        records = shut[:-1].rstrip()
        sound = json_log.is_sound(data) if short else shut.endswith(b"]") and records.endswith(b"}")
        if not sound:
            self._mend(data if short else beside.read_bytes(fd, 0, size))
            return
        before = size - len(data)
        self._settle(end=before + len(records), bracket=before + len(shut) - 1)
        self._empty = records.endswith(b"[")
        self._fd = fd

    def _mend(self, data: bytes) -> None:
        """Replace the file by one of its complete records, and leave what was there aside."""
        lines = json_log.complete_records(data)
        body = _BEGIN + ",\n".join(lines).encode()
        room = _room_for(len(body))
        with self._new_copy() as new:
            self._fill(new, body, end=len(body), room=room)
            os.fsync(new)
            aside = beside.put_aside(self.path, self.path + json_log.DAMAGED_SUFFIX, data=data)
            self._empty = not lines
            self._replace(new, end=len(body), room=room)
        say(
            f"The JSON log was torn or no array. Its {len(lines)} complete records are kept and logging goes on; "
            f"what was there is in {aside}"
        )

    # ---- room, and copies with more of it

    def _make_room(self, needed_bytes: int) -> None:
        """Have at least `needed_bytes` before the bracket, or wait for the copy that is being made."""
        if self._copying:
            self._layout.wait()
            return
        if self._clock() >= self._copy_at:
            try:
                self._copy(max(_room_for(self._end), needed_bytes))
                return
            except OSError:
                # A copy may fail for want of space after much work: do not try with every page.
                self._copy_at = self._clock() + _COPY_AGAIN_SECS
        self._move_bracket(max(_LEAST_ROOM_BYTES, needed_bytes))

    def _copy(self, room: int, *, more: bytes = b"") -> None:
        """Replace the file by a copy with more room, and perhaps one record more."""
        with self._new_copy() as new:
            beside.copy_bytes(self._fd, new, 0, self._end)
            end = self._end + len(more)
            self._fill(new, more, end=end, room=room)
            os.fsync(new)
            self._replace(new, end=end, room=room)

    def _copy_with(self, piece: bytes) -> bool:
        """Add a record longer than a page; false where no copy can be made."""
        try:
            self._copy(_room_for(self._end), more=piece)
        except OSError:
            return False
        self._empty, self._changed = False, True
        return True

    def _copy_aside(self, room: int) -> None:
        """Replace the file by a copy, and let others log while it is made: what is written stays as it is."""
        with self._layout:
            if self._copying or self._fd < 0:
                return
            self._copying, end, source = True, self._end, os.dup(self._fd)
            self._in_passing.add(source)
        try:
            with self._new_copy() as new:
                beside.copy_bytes(source, new, 0, end)
                self._fill(new, b"", end=end, room=room)
                os.fsync(new)
                with self._layout:
                    if self._end <= end + room:
                        beside.copy_bytes(source, new, end, self._end)
                        self._replace(new, end=self._end, room=room - (self._end - end))
        finally:
            self._in_passing.discard(source)
            os.close(source)
            with self._layout:
                self._copying = False
                self._layout.notify_all()

    @contextlib.contextmanager
    def _new_copy(self) -> Iterator[int]:
        """An empty file beside ours, which is gone again unless it replaces ours."""
        path = self.path + json_log.NEW_SUFFIX
        if self._fd >= 0 and os.fstat(self._fd).st_nlink and not beside.is_at(self._fd, self.path):
            # Somebody moved our file. We write it where it is, and put nothing in its old place.
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        new = beside.open_empty(path)
        self._in_passing.add(new)
        try:
            if self._fd >= 0:
                with contextlib.suppress(OSError):
                    os.fchmod(new, stat.S_IMODE(os.fstat(self._fd).st_mode))
            yield new
        finally:
            self._in_passing.discard(new)
            if self._fd != new:
                with contextlib.suppress(OSError):
                    os.unlink(path)
                os.close(new)

    def _fill(self, fd: int, records: bytes, *, end: int, room: int) -> None:
        """Write `records` so that they end at `end`, then the room and the bracket."""
        beside.write_bytes(fd, records + b" " * room + _END, end - len(records))

    def _replace(self, new: int, *, end: int, room: int) -> None:
        os.rename(self.path + json_log.NEW_SUFFIX, self.path)
        old, self._fd = self._fd, new
        self._settle(end=end, bracket=end + room + _END.index(b"]"))
        if old >= 0:
            os.close(old)

    def _settle(self, *, end: int, bracket: int) -> None:
        self._end, self._bracket, self._asked = end, bracket, False
        self._low_at = bracket - _room_for(end) // 2

    def _move_bracket(self, room: int) -> None:
        """Make room without a copy. Spaces behind the bracket first: they are valid there, and may not fit."""
        size = os.fstat(self._fd).st_size
        bracket = self._bracket + room
        beside.write_bytes(self._fd, b" " * (bracket + 1 - size), size)
        os.pwrite(self._fd, b"]", bracket)
        os.pwrite(self._fd, b" ", self._bracket)
        self._settle(end=self._end, bracket=bracket)

    def _rescue(self) -> None:
        """The file was deleted under us. Its bytes live on behind our handle: write them out again."""
        if os.path.exists(self.path):  # and somebody put another in its place
            self.path = beside.unused(beside.name_of_process(self._asked_path))
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self._copy_aside(_room_for(self._end))
        say(f"The JSON log had been removed and was written anew, with all it held. {self.path}")

    # ---- trouble

    def _fail(self, error: OSError) -> None:
        """Say it once; the first call after a second tries again."""
        if not self._trouble:
            say(
                f"Cannot write the JSON log: {error.strerror}. Training goes on; records are kept in memory and "
                f"written when it works again. {self.path}"
            )
        self._trouble = error.errno or errno.EIO
        self._retry_at = self._clock() + _RETRY_SECS
        if self._strict:
            raise error

    def _recovered(self) -> None:
        lost, self._said_lost = self.dropped_records - self._said_lost, self.dropped_records
        lost_words = f" {lost} records did not fit and are lost." if lost else ""
        self._trouble = 0
        say(f"The JSON log is being written again.{lost_words} {self.path}")

    def _let_go(self) -> None:
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            self._let_go()


def _room_for(size: int) -> int:
    return min(_MOST_ROOM_BYTES, max(_LEAST_ROOM_BYTES, size // 4))


# ---------- one writer for a path

_files: weakref.WeakSet[JsonFile] = weakref.WeakSet()
_opening = threading.Lock()


def shared(path: str | os.PathLike[str], *, strict: bool = False) -> JsonFile:
    """The process's one writer of this file: loggers with the same path append to one array, and each closes it."""
    real = os.path.realpath(path)
    with _opening:
        for file in list(_files):
            if file._asked_path == real and not file._closed:
                file._users += 1
                return file
        return JsonFile(real, strict=strict)


def _in_child() -> None:
    global _opening
    _opening = threading.Lock()
    for file in list(_files):
        file.begin_anew()


os.register_at_fork(after_in_child=_in_child)
