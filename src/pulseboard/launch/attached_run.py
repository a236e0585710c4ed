"""A run that another process records, and that this one adds an event file to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pulseboard.record.active.run_config import RunConfig
from pulseboard.record.active.summary import RunSummary
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.rank import Rank
from pulseboard.record.run_directory import RunDirectory
from pulseboard.record.settings import Settings


class AttachedRun(ActiveRun):
    """Writes an event file of its own into the directory of the run. run.json belongs to the other process."""

    def _start(
        self,
        opened: RunDirectory,
        config: Mapping[str, Any],
        tags: Iterable[str],
        notes: str,
        labels: Mapping[str, str | None],
    ) -> None:
        self._directory = opened.path
        self._config = RunConfig({}, self._config_changed)
        self._summary = RunSummary(None, self._summary_changed)
        self.events = self._open_events(opened.path, resumed=False)


def attach_to(directory: Path, *, telemetry_secs: float) -> AttachedRun:
    """Add to the run in a directory."""
    settings = Settings(runs_dir=str(directory.parent), report_to=("tensorboard",), telemetry_secs=telemetry_secs)
    return AttachedRun(settings, reopen=directory, rank=Rank())
