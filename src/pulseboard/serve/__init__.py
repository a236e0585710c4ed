"""serve: questions over HTTP in, JSON, binary columns and events out.

Reads nothing that a request names by path: runs and tags are looked up by name among what `store` has found. Never
writes below a log directory.

The room is also the call: `pb.serve("runs")`.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulseboard.serve.background import Background


class _CallableRoom(types.ModuleType):
    """Python puts a submodule under its name in the package, where `pb.serve` must be a call."""

    def __call__(self, *paths: Any, **options: Any) -> Background:
        from pulseboard.serve.background import serve

        return serve(*paths, **options)


sys.modules[__name__].__class__ = _CallableRoom
