"""The console sink: the run's records and scalars as lines on standard output."""

from __future__ import annotations

from typing import Any

from pulseboard.record.console.console import Console
from pulseboard.record.setting import Setting
from pulseboard.record.sink import RunInfo, Sink, sink
from pulseboard.rundir import json_log

SETTINGS = [
    Setting("verbosity", "how much is printed: -2 nothing, -1 evaluations, 0 normal, 1 telemetry too", int, default=0),
]


@sink(id="console", settings=SETTINGS)
class ConsoleSink(Sink):
    """Prints records. Percentage and ETA need total_steps in the settings or the config, or max_steps in the config."""

    def __init__(self, info: RunInfo) -> None:
        candidates = (info.settings.get("total_steps"), info.config.get("total_steps"), info.config.get("max_steps"))
        self._console = Console(
            verbosity=int(info.settings.get("verbosity") or 0),
            total_steps=next((steps for steps in candidates if isinstance(steps, int) and steps > 0), None),
        )

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """Print them as a step."""
        self._console.show(json_log.scalars_record(values, step=step, wall_time=wall_time))

    def record(self, record: dict[str, Any]) -> None:
        """Print it, if the verbosity includes its kind."""
        self._console.show(record)
