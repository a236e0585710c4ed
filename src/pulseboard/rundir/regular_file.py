"""Opening files that may have been replaced a moment ago: by a pipe, a device, or a link that leads elsewhere."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import BinaryIO

_within: ContextVar[tuple[str, ...] | None] = ContextVar("_within", default=None)


class NotARegularFile(OSError):
    """A pipe, a device or a directory where a file is expected. Opening one may wait forever."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "it is not a regular file", path)


class OutsideDirectory(OSError):
    """A link leads out of the directories that a path must stay in."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EXDEV, "a link leads out of the log directories", path)


@contextlib.contextmanager
def staying_within(directories: tuple[str, ...] | None) -> Iterator[None]:
    """Whatever `open_regular` opens in this block must be at or below one of these real paths. None: anywhere."""
    before = _within.set(directories)
    try:
        yield
    finally:
        _within.reset(before)


def open_regular(
    path: str, *, within: Sequence[str] | None = None, follow_symlinks: bool = True, buffered: bool = True
) -> BinaryIO:
    """The file at `path`, open for reading. Raises OSError, also if it is not a regular file.

    `within` are real paths of directories: what was opened must be at or below one of them. That is checked on the open
    file, so it does not matter when a part of the path was replaced by a link. Without it, those of `staying_within`
    count.
    """
    within = _within.get() if within is None else within
    # O_NONBLOCK: opening a pipe must not wait for a writer.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_symlinks else os.O_NOFOLLOW)
    fd = os.open(path, flags)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise NotARegularFile(path)
        if within is not None and not is_within(_path_of(fd, path, status), within):
            raise OutsideDirectory(path)
        return open(fd, "rb", buffering=-1 if buffered else 0)
    except BaseException:
        os.close(fd)
        raise


def real_path(path: str) -> str:
    """The path without links of the file that `open_regular` opens at `path`, for libraries that open it themselves."""
    with open_regular(path, buffered=False) as stream:
        return _path_of(stream.fileno(), path, os.fstat(stream.fileno()))


def is_within(real_path: str, tops: Sequence[str]) -> bool:
    """Whether a path without links is at or below one of these directories, which are given without links too."""
    return any(real_path == top or real_path.startswith(os.path.join(top, "")) for top in tops)


def _path_of(fd: int, path: str, status: os.stat_result) -> str:
    """The path of an open file, without links."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/self/fd/{fd}")
    # Systems without /proc: the path now, if it still leads to this file.
    real = os.path.realpath(path)
    if not os.path.samestat(status, os.stat(real)):
        raise OutsideDirectory(path)
    return real
