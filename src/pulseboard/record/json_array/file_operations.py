"""File operations: locks, names for copies, and reads and writes that are never cut short."""

from __future__ import annotations

import errno
import fcntl
import os
import time

_CHUNK_BYTES = 1 << 20


def lock(fd: int) -> bool:
    """Whether this process now has the open file to itself. Assumed if the file system has no locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def lock_within(fd: int, timeout_secs: float) -> bool:
    """The same, waiting a little: a process that was killed may need a moment to release its lock."""
    deadline = time.monotonic() + timeout_secs
    while not lock(fd):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)
    return True


def is_at(fd: int, path: str) -> bool:
    """Whether `path` now leads to this open file."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def open_empty(path: str) -> int:
    """Open an empty, locked file at `path`. Raises BlockingIOError while another process has it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if not (lock(fd) and is_at(fd, path)):
            raise BlockingIOError(errno.EWOULDBLOCK, "another process is writing it")
        os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def path_for_process(path: str) -> str:
    """Where this process writes if another process has the file at `path`: training-4711.json."""
    stem, extension = os.path.splitext(path)
    return f"{stem}-{os.getpid()}{extension}"


def unused_path(path: str) -> str:
    """The path itself, or with the first free number appended."""
    free, n = path, 1
    while os.path.lexists(free):
        n += 1
        free = f"{path}.{n}"
    return free


def keep_under_another_name(path: str, name: str, *, data: bytes) -> str:
    """Keep the file at `path`, whose content is `data`, under another name as well; returns that name."""
    name = unused_path(name)
    try:
        os.link(path, name)
    except OSError:  # this file system has no hard links
        with open(name, "xb") as stream:
            stream.write(data)
    return name


def read_bytes(fd: int, start: int, stop: int) -> bytes:
    """The bytes from `start` to `stop`, or to the end of the file."""
    chunks = []
    while start < stop and (chunk := os.pread(fd, min(_CHUNK_BYTES, stop - start), start)):
        chunks.append(chunk)
        start += len(chunk)
    return b"".join(chunks)


def write_bytes(fd: int, data: bytes, at: int) -> None:
    """Write all of `data`, starting at byte `at`."""
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, at)
        at, view = at + written, view[written:]


def copy_bytes(source: int, target: int, start: int, stop: int) -> None:
    """Copy a range of bytes to the same position in another file."""
    while start < stop:
        chunk = os.pread(source, min(_CHUNK_BYTES, stop - start), start)
        if not chunk:
            raise OSError(errno.EIO, "the file became shorter")
        write_bytes(target, chunk, start)
        start += len(chunk)
