"""diagnose: series in, findings and their likely causes out.

Detectors see a case and nothing else: no files, no clock, no network, so that a finding can be told again from the
saved run. Never writes into a log directory.

The room is also the call: `pb.diagnose("runs")`.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulseboard.diagnose.diagnosis import Diagnosis


class _CallableRoom(types.ModuleType):
    """Python puts a submodule under its name in the package, where `pb.diagnose` must be a call."""

    def __call__(self, *paths: Any, **options: Any) -> Diagnosis:
        """Say what is wrong with every training below the paths: see `pulseboard.diagnose.diagnosis.diagnose`."""
        from pulseboard.diagnose.diagnosis import diagnose

        return diagnose(*paths, **options)


sys.modules[__name__].__class__ = _CallableRoom
