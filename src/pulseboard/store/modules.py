"""The module trees that a run left beside its run.json."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

from pulseboard.files import layout
from pulseboard.read.run import Run

if TYPE_CHECKING:
    from pulseboard.core.module_tree import ModuleTree

_MOST_BYTES = 64 << 20


def has_modules(run: Run) -> bool:
    """Whether the run has such a file."""
    try:
        # Not a link, which we never write: it would show whatever somebody else makes it lead to.
        return stat.S_ISREG(os.lstat(_path(run)).st_mode)
    except (OSError, ValueError):
        return False


def modules_of(run: Run) -> list[ModuleTree]:
    """The trees of the models that the run watched; none where there is no such file to read."""
    from pulseboard.files.module_tree import from_json  # few ask: the list of runs comes first

    if not has_modules(run):
        return []
    try:
        with open(_path(run), "rb") as stream:
            return from_json(json.loads(stream.read(_MOST_BYTES)))
    except (OSError, ValueError, RecursionError):
        return []


def _path(run: Run) -> str:
    return os.path.join(run.directory.removesuffix(os.sep + layout.EVENTS_DIRECTORY), layout.MODULES_FILE)
