"""Files beside a file: its next copy, what was damaged, and the one of another process. Whole pieces of bytes."""

from __future__ import annotations

import errno
import fcntl
import os
import time

_PIECE = 1 << 20


def locked(fd: int) -> bool:
    """Whether the open file is ours alone now. Where the file system has no locks, it is taken to be."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def locked_within(fd: int, patience_secs: float) -> bool:
    """The same, waiting a little: a process that was killed may need a moment to let go."""
    end_secs = time.monotonic() + patience_secs
    while not locked(fd):
        if time.monotonic() >= end_secs:
            return False
        time.sleep(0.01)
    return True


def is_at(fd: int, path: str) -> bool:
    """Whether the open file is the one that goes by this path now."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def open_empty(path: str) -> int:
    """An empty file at `path`, locked, to be filled and renamed. BlockingIOError while another process has it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if not (locked(fd) and is_at(fd, path)):
            raise BlockingIOError(errno.EWOULDBLOCK, "another process is writing it")
        os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def name_of_process(path: str) -> str:
    """Where this process writes when the file at `path` is another's: training-4711.json."""
    stem, extension = os.path.splitext(path)
    return f"{stem}-{os.getpid()}{extension}"


def unused(path: str) -> str:
    """The path itself, or with the first number behind it that is free."""
    free, n = path, 1
    while os.path.lexists(free):
        n += 1
        free = f"{path}.{n}"
    return free


def put_aside(path: str, aside: str, *, data: bytes) -> str:
    """Give what is at `path`, which is `data`, a second name; gives back the name."""
    aside = unused(aside)
    try:
        os.link(path, aside)
    except OSError:  # no second names on this file system
        with open(aside, "xb") as stream:
            stream.write(data)
    return aside


def read_bytes(fd: int, start: int, stop: int) -> bytes:
    """The bytes from `start` to `stop`, or to the end of the file."""
    pieces = []
    while start < stop and (piece := os.pread(fd, min(_PIECE, stop - start), start)):
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)


def write_bytes(fd: int, data: bytes, at: int) -> None:
    """Write all of `data` from `at` on."""
    view = memoryview(data)
    while view:
        done = os.pwrite(fd, view, at)
        at, view = at + done, view[done:]


def copy_bytes(source: int, target: int, start: int, stop: int) -> None:
    """Copy a range to the same place of another file."""
    while start < stop:
        piece = os.pread(source, min(_PIECE, stop - start), start)
        if not piece:
            raise OSError(errno.EIO, "the file became shorter")
        write_bytes(target, piece, start)
        start += len(piece)
