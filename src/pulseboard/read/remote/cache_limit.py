"""The limit on the size of all mirrors together: mirrors that were not used for long are removed first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from pulseboard.core.errors import PulseboardError
from pulseboard.read.remote.mirror_files import STATE_FILE, remove_unused
from pulseboard.read.remote.store import RemoteFile

LIMIT_VARIABLE = "PULSEBOARD_REMOTE_CACHE_GB"

_DEFAULT_GB = 10.0
# One file may take this fraction of the limit, so that one huge file does not push out everything else.
_MAX_FILE_FRAC = 0.25


def max_cache_bytes() -> int:
    """The limit that the user set, or 10 GB."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    try:
        limit = float(text) if text else _DEFAULT_GB
        if not 0 <= limit < 1e9:
            raise ValueError
    except ValueError:
        raise PulseboardError(f"{LIMIT_VARIABLE} must be a number of gigabytes, not {text!r}.") from None
    return int(limit * 1e9)


def make_room(needed: int, *, mirrors: Path, keep: Path, max_bytes: int) -> int:
    """Remove other mirrors, the least recently used first, until `needed` bytes fit. Returns how many may be used."""
    others: list[tuple[float, int, Path]] = []
    for directory in mirrors.iterdir() if mirrors.is_dir() else ():
        if directory != keep and directory.is_dir():
            others.append((*_last_use_and_size(directory), directory))
    used = sum(size for _, size, _ in others)
    for _, size, directory in sorted(others):
        if used + needed <= max_bytes:
            break
        if remove_unused(directory):
            used -= size
    return max(0, max_bytes - used)


def _last_use_and_size(directory: Path) -> tuple[float, int]:
    state = directory / STATE_FILE
    try:
        return state.stat().st_mtime, int(json.loads(state.read_text(encoding="utf-8"))["bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        sizes = (os.lstat(os.path.join(top, name)).st_size for top, _, names in os.walk(directory) for name in names)
        return 0.0, sum(sizes)


def that_fit(
    files: Iterable[RemoteFile], *, available: int, max_bytes: int
) -> tuple[list[RemoteFile], list[RemoteFile]]:
    """The files that fit, the most recently changed first, and those that do not."""
    fit: list[RemoteFile] = []
    left_out: list[RemoteFile] = []
    max_file_bytes = max_bytes * _MAX_FILE_FRAC
    for file in sorted(files, key=lambda file: (-file.mtime_ns, file.name)):
        if file.size <= available and file.size <= max_file_bytes:
            available -= file.size
            fit.append(file)
        else:
            left_out.append(file)
    return fit, left_out
