"""A disabled run: `init(mode="disabled")`. It takes every call and writes nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pulseboard.record.active.metadata import RunMetadata, as_tags
from pulseboard.record.active.run_config import RunConfig
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.event_log.placeholders import NoEventFile
from pulseboard.record.live_findings import LiveFindings
from pulseboard.record.media.media_calls import MediaCalls
from pulseboard.record.rank import current_rank
from pulseboard.record.settings import Settings


class DisabledRun(ActiveRun):
    """Its config, tags, notes and summary work, in memory only. It has no threads and no directory."""

    def __init__(
        self, settings: Settings, *, config: Mapping[str, Any], tags: Any = (), notes: str = "", **_: Any
    ) -> None:
        MediaCalls.__init__(self)
        RunMetadata.__init__(self)
        self.settings, self.strict, self.finished = settings, False, False
        self._closed = False
        self.rank = current_rank()
        self.events = NoEventFile()
        self._step = 0
        self._finish_lock = threading.RLock()
        self._sinks, self._run_file, self._live_findings = [], None, LiveFindings()
        self._directory = Path(settings.runs_dir) / "disabled"
        self._config = RunConfig(config, self._config_changed)
        self._tags, self._notes = as_tags(tags), notes

    tags = property(lambda self: list(self._tags), lambda self, tags: setattr(self, "_tags", as_tags(tags)))
    notes = property(lambda self: self._notes, lambda self, notes: setattr(self, "_notes", notes))

    def _log(self, values: Mapping[str, Any], step: int) -> None:
        pass

    def _log_encoded(self, *args: Any, **named: Any) -> None:
        pass

    def hparams(self, values: Mapping[str, Any], metrics: Mapping[str, Any] | None = None) -> None:
        """Do nothing."""

    def in_background(self, job: Callable[[], None]) -> None:
        """Do nothing: whatever it is, its result would not be recorded."""

    def start_diagnosis(self) -> None:
        """Do nothing: there is nothing to diagnose."""

    def flush(self) -> None:
        """Do nothing."""

    def finish(self, *, status: str = "finished") -> None:
        """End the run. Nothing is written."""
        self.finished = True
