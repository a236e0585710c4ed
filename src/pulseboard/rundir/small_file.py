"""Small files of a run, read within limits: they may come from anyone."""

from __future__ import annotations

import errno
import os

from pulseboard.core.errors import PulseboardError
from pulseboard.rundir.regular_file import open_regular


class UnreadableFile(PulseboardError):
    """A small file of a run that is missing, damaged, too large, or not a plain file."""

    def __init__(self, reason: str, *, path: str) -> None:
        self.reason, self.path = reason, path
        super().__init__(f"{os.path.basename(path)} cannot be read: {reason}. {path}")


def read_small_file(path: str, *, max_bytes: int | None, follow_symlinks: bool = False) -> bytes:
    """The bytes of the file at `path`; raises UnreadableFile.

    Symbolic links are refused by default. Pulseboard writes none, and in a log directory that someone else
    can write to, a link could expose any file the reader has access to.
    """
    try:
        with open_regular(path, follow_symlinks=follow_symlinks) as stream:
            data = stream.read() if max_bytes is None else stream.read(max_bytes + 1)
    except OSError as error:
        refused_link = error.errno == errno.ELOOP and not follow_symlinks
        reason = "it is a symbolic link" if refused_link else error.strerror or str(error)
        raise UnreadableFile(reason, path=path) from error
    if max_bytes is not None and len(data) > max_bytes:
        raise UnreadableFile(f"it is larger than {max_bytes >> 20} MiB", path=path)
    return data
