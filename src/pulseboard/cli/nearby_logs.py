"""Which logs are below a directory, found quickly by name: for `pulseboard` without arguments, and for advice."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from pulseboard.rundir import layout

# Enough for a project; a home directory with millions of files must not hold up the command.
_MAX_SECS = 2.0
_MAX_DEPTH = 6
_SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", "build", "dist"})
_TRACKERS = frozenset({"wandb", "mlruns", ".aim"})


def find_logs(directory: str, *, max_secs: float = _MAX_SECS) -> list[str]:
    """The directories directly below `directory` that hold logs, or `directory` itself if it does; sorted."""
    ends = time.monotonic() + max_secs
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    if _holds_log(names):
        return [directory]
    children = [os.path.join(directory, name) for name in names if _is_searched(name)]
    return [child for child in children if os.path.isdir(child) and any(_logs_below(child, ends=ends))]


def _logs_below(top: str, *, ends: float) -> Iterator[bool]:
    if os.path.basename(top) in _TRACKERS:
        yield True
    depth = top.count(os.sep)
    for path, directories, files in os.walk(top):
        if _holds_log(files) or not _TRACKERS.isdisjoint(directories):
            yield True
        if time.monotonic() > ends:
            return
        deep = path.count(os.sep) - depth >= _MAX_DEPTH
        directories[:] = [] if deep else sorted(filter(_is_searched, directories))


def _is_searched(name: str) -> bool:
    return name not in _SKIPPED and (not name.startswith(".") or name in _TRACKERS)


def _holds_log(names: list[str]) -> bool:
    return layout.RUN_FILE in names or any(map(layout.is_event_file, names))
