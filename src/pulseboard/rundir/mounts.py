"""Mounts: whether a path is on a local file system."""

from __future__ import annotations

import os
import sys

# Only this machine writes to these, so it is notified of every change, and a write is complete when it returns.
_LOCAL_TYPES = {
    "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs",
}  # fmt: skip


def is_local(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is on a file system that only this machine writes to.

    On a shared one, other machines may change files without any notification, and a write may take seconds.
    """
    if sys.platform != "linux":
        return True
    return _type_of(os.path.realpath(path)) in _LOCAL_TYPES


def _type_of(real_path: str) -> str:
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return ""
    longest, type_ = -1, ""
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split()[4].encode("latin-1", "backslashreplace").decode("unicode_escape")
        inside = mount == "/" or real_path == mount or real_path.startswith(mount + "/")
        if inside and len(mount) >= longest:
            longest, type_ = len(mount), after.split()[0]
    return type_
