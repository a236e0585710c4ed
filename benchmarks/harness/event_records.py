"""Records of an event file, found by their lengths alone. Standard library only: other tools' environments use it."""

from __future__ import annotations

import struct
from pathlib import Path


def record_offsets(file: Path) -> list[int]:
    """Where each record of an event file begins, and where the last one ends."""
    # One record: u64 length, u32 checksum, `length` bytes, u32 checksum.
    data, at, offsets = file.read_bytes(), 0, [0]
    while at < len(data):
        at += 16 + struct.unpack_from("<Q", data, at)[0]
        offsets.append(at)
    return offsets


def event_files_below(directory: Path) -> list[Path]:
    """Every event file in a directory and its subdirectories."""
    return sorted(directory.rglob("*tfevents*"))


def only_file(directory: Path) -> Path:
    """The event file of a directory that holds exactly one."""
    (file,) = event_files_below(directory)
    return file
