"""The console sink: the run's records and scalars as lines on standard output."""

from __future__ import annotations

from typing import Any

from pulseboard.files import json_log
from pulseboard.record.console import Console, LogVerbosity
from pulseboard.record.sink import RunInfo, Sink, sink


@sink(id="console")
class ConsoleSink(Sink):
    """Prints as settings["verbosity"] asks.

    Percentage and eta need total_steps in the settings, or total_steps or max_steps in the run's config.
    """

    def __init__(self, info: RunInfo) -> None:
        verbosity = info.settings.get("verbosity")
        told = (info.settings.get("total_steps"), info.config.get("total_steps"), info.config.get("max_steps"))
        self._console = Console(
            verbosity=int(verbosity) if verbosity is not None else LogVerbosity.DEFAULT,
            total_steps=next((steps for steps in told if isinstance(steps, int) and steps > 0), None),
        )

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """Print them as a step."""
        self._console.show(json_log.scalars_record(values, step=step, wall_time=wall_time))

    def record(self, record: dict[str, Any]) -> None:
        """Print it, if its kind is printed at this verbosity."""
        self._console.show(record)
