"""One JSON array being appended to, whole at every moment: to a reader, and after kill -9.

    [
    {"log": "step", ...},
    {"log": "step", ...}                      spaces, the room for what comes ]

The closing bracket stands far behind the last record, and records are written over the spaces
between. Each is one pwrite within one page of 4096 bytes. Linux looks for a fatal signal between
the pages of a write and not within one, so a killed process leaves the record whole or not at all;
where a record would cross into the next page it begins there, and the spaces before it stay. The
file never grows by such a write, so it needs no new space on the disk and no new length.

When the room runs out, a copy with more room is made beside the file and renamed over it. That is
the only way: a bracket that moves from one page to another changes both, and between the two
changes the array would have two brackets or none. The copy is made by `tick`, ahead of need, and by
the call itself only if that comes too late. `close` leaves a file without the spaces.

Writing over the bracket instead, `,` record `]`, was tried: one in eighty reads beside a writer of
two thousand records a second was torn, since a reader takes the length first and the bytes then.
Here it was none in nine thousand.

What remains. A reader that copies a page in the nanoseconds in which it is written may see half a
record, and none when it reads again. A record longer than a page goes in with a copy of the file,
and above 16 MiB straight into the room, where a kill between two pages tears it. Where no copy can
be made (no space, no rights in the directory, the file moved away) the bracket is moved in place:
two writes of a byte, and a kill just between them leaves one bracket too many. Opening a torn file
again mends it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable

from pulseboard.files import json_log, mounts
from pulseboard.record.report import say

# Kept in memory while the disk cannot take it.
MOST_WAITING_BYTES = 64 << 20

# The smallest page there is; pages of other sizes are multiples of it.
PAGE_BYTES = 4096
# Room for a few hundred records at first, then a quarter of the file: copying stays a constant cost a record.
_LEAST_ROOM_BYTES = 64 << 10
_MOST_ROOM_BYTES = 64 << 20
# A file up to this size is parsed when it is opened again, about a second; of a longer one, the end.
_MOST_PARSED_BYTES = 64 << 20
# A record longer than a page is written with a copy of the file up to this size.
_MOST_COPIED_BYTES = 16 << 20
_PIECE = 1 << 20
_RETRY_SECS = 1.0
_SYNC_SECS = 30.0

_END = b"\n]\n"


class JsonFile:
    """A JSON array of records. What `append` was given is in the file when it returns."""

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

        `buffered` leaves the writing to `tick`; where it is None, that is chosen for file systems that
        other machines share. `tick` must be called now and then. Two writers of one file: see `shared`.
        """
        self.path = os.path.realpath(path)
        self.dropped_records = 0
        self._asked_path = self.path
        self._buffered = buffered
        self._strict = strict
        self._most_waiting_bytes = most_waiting_bytes
        self._clock = clock
        self._users = 1
        self._prepare()
        _files.add(self)
        with self._lock:
            self._open_safely()

    def _prepare(self) -> None:
        self._lock = threading.Lock()
        self._copied = threading.Condition(self._lock)
        self._copying = False  # a copy with more room is being made by `tick`
        self._writing: set[int] = set()  # threads that write what waits; a signal may make one call again
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._trouble = 0  # errno of what keeps the file from being written
        self._retry_at = 0.0
        self._copy_again_at = 0.0
        self._synced_at = self._clock()
        self._changed = False
        self._closed = False
        self._fd = -1
        self._end = 0  # behind the last record
        self._bracket = 0  # where the closing bracket stands
        self._empty = True
        self._copies = 0

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
        # A signal handler that logs while this thread writes leaves its record to the write below it.
        while self._waiting and thread not in self._writing:
            if self._trouble and not at_once and self._clock() < self._retry_at:
                return
            with self._lock:
                self._writing.add(thread)
                try:
                    self._write_all()
                except OSError as error:
                    self._fail(error)
                    return
                finally:
                    self._writing.discard(thread)

    def _write_all(self) -> None:
        if self._fd < 0:
            self._open()
        while self._waiting:
            line = self._waiting[0]
            self._write(line)
            self._waiting.popleft()
            self._waiting_bytes -= len(line)
        if self._trouble:
            self._recovered()

    def _write(self, line: bytes) -> None:
        while True:
            piece = line if self._empty else b",\n" + line
            at = self._end
            if len(piece) > PAGE_BYTES:
                if at <= _MOST_COPIED_BYTES and self._copy_with(piece):
                    return
            elif at % PAGE_BYTES + len(piece) > PAGE_BYTES:
                at += -at % PAGE_BYTES
            if at + len(piece) <= self._bracket:
                break
            self._make_room(at + len(piece) - self._end)
        done = os.pwrite(self._fd, piece, at)
        if done < len(piece):
            os.pwrite(self._fd, b" " * done, at)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._end, self._empty, self._changed = at + done, False, True

    # ---- looking after the file

    def tick(self) -> None:
        """Write what waits, make room ahead of need, notice a file that was removed, and sync now and then."""
        self._write_waiting()
        if self._fd < 0 or self._closed:
            return
        try:
            if os.fstat(self._fd).st_nlink == 0:
                self._rescue()
            elif self._bracket - self._end < self._wanted_room() // 2:
                self._copy_aside(self._wanted_room())
            now = self._clock()
            if self._changed and now - self._synced_at >= _SYNC_SECS:
                self._synced_at, self._changed = now, False
                os.fsync(self._fd)
        except OSError:
            pass  # the next write will tell

    def flush(self) -> None:
        """Write what waits, and sync."""
        self._write_waiting(at_once=True)
        self.tick()
        try:
            if self._fd >= 0:
                os.fsync(self._fd)
        except OSError:
            pass

    def close(self) -> None:
        """Write what waits, take the spaces out, and close. What cannot be written now is lost, and said."""
        self._users -= 1
        if self._users > 0 or self._closed:
            return
        self._write_waiting(at_once=True)
        if self._fd >= 0:
            try:
                self._copy_aside(0)
            except OSError:
                pass  # the spaces stay; they harm nobody
        self._closed = True
        with self._lock:
            self._let_go()
        lost = self.dropped_records + len(self._waiting)
        if lost:
            say(f"{lost} records of the JSON log could not be written and are lost. {self.path}")

    def begin_anew(self) -> None:
        """In a forked child: the file is the parent's. The child's first record opens it, or one of its own."""
        fd, closed = self._fd, self._closed
        self._prepare()
        self.path, self._closed = self._asked_path, closed
        self.dropped_records = 0
        if fd >= 0:
            os.close(fd)

    # ---- opening

    def _open_safely(self) -> None:
        try:
            self._open()
        except OSError as error:
            self._fail(error)

    def _open(self) -> None:
        """Open the file and make it ours; where another process has it, open one beside it."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if self._buffered is None:
            self._buffered = not mounts.is_local(os.path.dirname(self.path))
        while self._fd < 0:
            try:
                fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                self._begin()
                continue
            try:
                self._adopt(fd)
            finally:
                if self._fd != fd:
                    os.close(fd)

    def _adopt(self, fd: int) -> None:
        """Go on with an existing file, if it can be had."""
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if not _locked(fd):
            self._step_aside()
        elif _is_at(fd, self.path):
            self._go_on(fd)

    def _step_aside(self) -> None:
        """Another process writes this file: take one of our own beside it."""
        self.path = _own_name(self._asked_path)
        say(f"Another process writes this JSON log. The records of this one go to {self.path}")

    def _begin(self) -> None:
        fd = _open_new(self.path)
        try:
            if fd < 0 or os.path.exists(self.path):
                return  # somebody else was first: look again
            self._fill(fd, end=2, before=b"[\n", room=_LEAST_ROOM_BYTES)
            os.rename(self.path + json_log.NEW_SUFFIX, self.path)
            self._take(fd, end=2, empty=True, room=_LEAST_ROOM_BYTES)
        finally:
            if fd >= 0 and self._fd != fd:
                os.close(fd)

    def _go_on(self, fd: int) -> None:
        size = os.fstat(fd).st_size
        if size == 0:
            os.unlink(self.path)
            return
        whole = size <= _MOST_PARSED_BYTES
        # The end of a long file must hold more than the room, or the last record is not in sight.
        data = _read(fd, 0 if whole else max(0, size - 2 * _MOST_ROOM_BYTES), size)
        shut = data.rstrip()
        records = shut[:-1].rstrip()
        if whole:
            count = json_log.sound_count(data)
        else:
            count = 1 if shut.endswith(b"]") and records.endswith(b"}") else None
        if count is None:
            self._mend(fd, data if whole else _read(fd, 0, size))
            return
        self._fd, self._copies = fd, self._copies + 1
        self._end, self._bracket = size - len(data) + len(records), size - len(data) + len(shut) - 1
        self._empty = count == 0

    def _mend(self, fd: int, data: bytes) -> None:
        """Write a file of the complete records, and leave what was there aside."""
        lines = json_log.complete_records(data)
        body = b"[\n" + ",\n".join(lines).encode()
        room = _room_for(len(body))
        new = _open_new(self.path)
        if new < 0:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        try:
            self._fill(new, end=len(body), before=body, room=room)
            os.fsync(new)
            aside = _put_aside(self.path, data)
            os.rename(self.path + json_log.NEW_SUFFIX, self.path)
            self._take(new, end=len(body), empty=not lines, room=room)
        finally:
            if self._fd != new:
                os.close(new)
        say(
            f"The JSON log was torn or no array. Its {len(lines)} complete records are kept and logging goes on; "
            f"what was there is in {aside}"
        )

    # ---- room

    def _wanted_room(self) -> int:
        return _room_for(self._end)

    def _make_room(self, needed_bytes: int) -> None:
        """Have at least `needed_bytes` before the bracket. The lock is held; it is let go while a copy is made."""
        if self._copying:
            self._copied.wait()
            return
        room = max(self._wanted_room(), needed_bytes)
        if self._clock() >= self._copy_again_at:
            try:
                self._copy(room)
                return
            except OSError:
                # A copy may fail for want of space after much work: do not try with every page.
                self._copy_again_at = self._clock() + 60.0
        self._move_bracket(max(_LEAST_ROOM_BYTES, needed_bytes))

    def _copy(self, room: int, *, more: bytes = b"") -> None:
        """Replace the file by a copy with more room, and perhaps more records."""
        self._expect_in_place()
        new = self._new_copy()
        try:
            _copy_bytes(self._fd, new, 0, self._end)
            end = self._end + len(more)
            self._fill(new, end=end, before=more, room=room)
            os.fsync(new)
            self._replace(new, end=end, room=room)
        finally:
            if self._fd != new:
                os.close(new)

    def _copy_with(self, piece: bytes) -> bool:
        """Add a record longer than a page; false where no copy can be made."""
        if self._copying:
            self._copied.wait()
        try:
            self._copy(self._wanted_room(), more=piece)
        except OSError:
            return False
        self._empty, self._changed = False, True
        return True

    def _copy_aside(self, room: int) -> None:
        """The same, letting others log while the bulk is copied: what is written stays as it is."""
        with self._lock:
            if self._copying or self._fd < 0:
                return
            self._expect_in_place()
            new, source, end = self._new_copy(), os.dup(self._fd), self._end
            self._copying = True
        try:
            _copy_bytes(source, new, 0, end)
            self._fill(new, end=end, before=b"", room=room)
            os.fsync(new)
            with self._lock:
                if self._end + (PAGE_BYTES if room else 0) <= end + room:
                    _copy_bytes(self._fd, new, end, self._end)
                    self._replace(new, end=self._end, room=room - (self._end - end))
        finally:
            os.close(source)
            with self._lock:
                if self._fd != new:
                    os.close(new)
                self._copying = False
                self._copied.notify_all()

    def _expect_in_place(self) -> None:
        """A file that was moved away is written where it is now, so nothing may be put in its old place."""
        if os.fstat(self._fd).st_nlink and not _is_at(self._fd, self.path):
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))

    def _rescue(self) -> None:
        """The file was deleted under us. Its bytes live on behind our handle: write them out again."""
        if os.path.exists(self.path):
            self.path = _own_name(self._asked_path)  # and somebody put another in its place
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self._copy_aside(self._wanted_room())
        say(f"The JSON log had been removed and was written anew, with all it held. {self.path}")

    def _new_copy(self) -> int:
        new = _open_new(self.path)
        if new < 0:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        os.fchmod(new, stat.S_IMODE(os.fstat(self._fd).st_mode))
        return new

    def _fill(self, fd: int, *, end: int, before: bytes, room: int) -> None:
        """Write `before` so that it ends at `end`, then the room and the bracket."""
        _write_bytes(fd, before + b" " * room + _END, end - len(before))

    def _replace(self, new: int, *, end: int, room: int) -> None:
        os.rename(self.path + json_log.NEW_SUFFIX, self.path)
        old = self._fd
        self._take(new, end=end, empty=self._empty, room=room)
        os.close(old)

    def _take(self, fd: int, *, end: int, empty: bool, room: int) -> None:
        self._fd, self._end, self._empty, self._bracket = fd, end, empty, end + room + 1
        self._copies += 1

    def _move_bracket(self, room: int) -> None:
        """Make room without a copy. Spaces behind the bracket first, which are valid JSON and may not fit."""
        size = os.fstat(self._fd).st_size
        bracket = self._bracket + room
        _write_bytes(self._fd, b" " * max(0, bracket + 1 - size), size)
        os.pwrite(self._fd, b"]", bracket)
        os.pwrite(self._fd, b" ", self._bracket)
        self._bracket = bracket

    # ---- trouble

    def _fail(self, error: OSError) -> None:
        """Say it once; the next call after a second tries again."""
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
        self._trouble = 0
        lost = f" {self.dropped_records} records did not fit and are lost." if self.dropped_records else ""
        self.dropped_records = 0
        say(f"The JSON log is being written again.{lost} {self.path}")

    def _let_go(self) -> None:
        if self._fd >= 0:
            try:
                os.close(self._fd)
            except OSError:
                pass
            self._fd = -1

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self._let_go()


# ---------- one writer for a path

_files: weakref.WeakSet[JsonFile] = weakref.WeakSet()
_opening = threading.Lock()


def shared(path: str | os.PathLike[str], *, strict: bool = False) -> JsonFile:
    """The process's writer of this file: two loggers with one path append to one array. Each closes it once."""
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


# ---------- files


def _locked(fd: int) -> bool:
    """Whether the file is ours alone now. Where the file system has no locks, it is taken to be."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def _open_new(path: str) -> int:
    """An empty, locked file beside `path`, to be renamed to it; -1 while another process has one there."""
    new = path + json_log.NEW_SUFFIX
    fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if _locked(fd) and _is_at(fd, new):
            os.ftruncate(fd, 0)
            return fd
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return -1


def _own_name(path: str) -> str:
    stem, extension = os.path.splitext(path)
    return f"{stem}-{os.getpid()}{extension}"


def _put_aside(path: str, data: bytes) -> str:
    """Leave what is at `path` under another name too, which is given back."""
    n = 1
    while os.path.lexists(aside := path + json_log.DAMAGED_SUFFIX + (f".{n}" if n > 1 else "")):
        n += 1
    try:
        os.link(path, aside)
    except OSError:  # no second names on this file system
        with open(aside, "xb") as stream:
            stream.write(data)
    return aside


def _room_for(size: int) -> int:
    return min(_MOST_ROOM_BYTES, max(_LEAST_ROOM_BYTES, size // 4))


def _read(fd: int, start: int, stop: int) -> bytes:
    pieces = []
    while start < stop and (piece := os.pread(fd, min(_PIECE, stop - start), start)):
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)


def _write_bytes(fd: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(fd, view, at)
        at, view = at + done, view[done:]


def _copy_bytes(source: int, target: int, start: int, stop: int) -> None:
    while start < stop:
        piece = os.pread(source, min(_PIECE, stop - start), start)
        if not piece:
            raise OSError(errno.EIO, "the file became shorter")
        _write_bytes(target, piece, start)
        start += len(piece)
