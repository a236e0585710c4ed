"""Mounts: what kind of file system holds a path, and what may be expected of it."""

from __future__ import annotations

import os
import sys

# Kept by this machine alone: it tells of every change, and a write is done when it returns.
_LOCAL = {
    "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs",
}  # fmt: skip


def is_local(path: str | os.PathLike[str]) -> bool:
    """Whether the file system that holds `path` is this machine's own.

    On a shared one another machine may change a file without a word, and a write may take seconds.
    """
    if sys.platform != "linux":
        return True
    return _kind_of(os.path.realpath(path)) in _LOCAL


def _kind_of(real: str) -> str:
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return ""
    best, kind = -1, ""
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split()[4].encode("latin-1", "backslashreplace").decode("unicode_escape")
        inside = mount == "/" or real == mount or real.startswith(mount + "/")
        if inside and len(mount) >= best:
            best, kind = len(mount), after.split()[0]
    return kind
