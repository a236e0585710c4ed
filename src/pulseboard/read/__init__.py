"""read: bytes on disk in, runs and series out.

Never writes, and never imports record. Every file keeps its place, so a growing log directory
costs only its new bytes.

The room is also the call: `pb.read("runs")`.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from pulseboard.read.every_run import EveryRun
    from pulseboard.read.load import Progress
    from pulseboard.read.log import Log


class _CallableRoom(types.ModuleType):
    """Python puts a submodule under its name in the package, where `pb.read` must be a call."""

    def __call__(self, *paths: Any, **options: Any) -> Log:
        from pulseboard.read.log import read

        return read(*paths, **options)


def any_runs(*paths: str | os.PathLike[str], progress: Progress | None = None) -> EveryRun:
    """Every run at the given paths, of event files and of other formats: `pulseboard.read.every_run`."""
    from pulseboard.read import every_run

    return every_run.any_runs(*paths, progress=progress)


sys.modules[__name__].__class__ = _CallableRoom
