"""The run that an integration logs to: the user's, or its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pulseboard.record.active_run import ActiveRun
from pulseboard.record.run import init, reopen


class ManagedRun:
    """Starts its own run when it is first needed, and reopens it if more is logged after its end.

    Frameworks log before, during and after training, and only some of them signal the end. A run that the user passed
    is never finished here: that is up to the user.
    """

    def __init__(self, run: ActiveRun | None, settings: Mapping[str, Any]) -> None:
        if run is not None and settings:
            raise ValueError(
                f"Pass either run= or settings for a new run, not both: got run= and {', '.join(sorted(settings))}."
            )
        self.is_own = run is None
        self.settings = dict(settings)  # arguments of pulseboard.init
        self._run = run

    @property
    def current(self) -> ActiveRun | None:
        """The run, or None if it has not started."""
        return self._run

    def open(self, **defaults: Any) -> ActiveRun:
        """The run, ready for logging. `defaults` are settings for a run that starts here; the user's settings win."""
        if self._run is None:
            self._run = init(**{**defaults, **self.settings})
        elif self.is_own and self._run.finished:
            self._run = self._reopen(self._run)
        return self._run

    def log(self, values: Mapping[str, Any], *, step: int | None = None) -> None:
        """Log numbers as scalars and strings, which some frameworks mix in, as texts."""
        run = self.open()
        texts = {tag: value for tag, value in values.items() if isinstance(value, str)}
        run.log({tag: value for tag, value in values.items() if tag not in texts} if texts else values, step)
        for tag, text in texts.items():
            run.text(tag, text, step=step)

    def close(self, *, status: str = "finished") -> None:
        """Finish an own run; flush the user's. Either can be logged to again."""
        if self._run is None or self._run.finished:
            return
        if self.is_own:
            self._run.finish(status=status)
        else:
            self._run.flush()

    def start_over(self) -> None:
        """Another training follows: an own run ends here, and the next `open` starts a new one."""
        if self.is_own:
            self.close(status="failed")  # it did not end on its own
            self._run = None

    def _reopen(self, run: ActiveRun) -> ActiveRun:
        # Not with `resume`, which means that a job died and orphans what it logged from this step on.
        named = ("dir", "project", "name", "group", "job_type", "config", "tags", "notes", "resume", "mode")
        settings = {key: value for key, value in self.settings.items() if key not in named}
        # Other ranks find the run as before, through rank 0.
        location = {"runs_dir": os.fspath(run.directory.parent)} if run.rank.is_main else {}
        return reopen(run, **{**settings, **location})
