"""The run an integration logs to: one it was given, or its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulseboard.record.run import Run, init


class KeptRun:
    """Its own run is begun when it is first needed, and goes on where something follows its end.

    Frameworks log before a training, in it and after it, and only some of them say when they are done.
    A run that was given is never finished here: that is for whoever began it.
    """

    def __init__(self, run: Run | None, settings: Mapping[str, Any]) -> None:
        if run is not None and settings:
            raise ValueError(
                f"Give either run= or the settings of a new run, not both: got run= and {', '.join(sorted(settings))}."
            )
        self.is_own = run is None
        self.settings = dict(settings)  # arguments of pulseboard.init
        self._run = run

    @property
    def begun(self) -> Run | None:
        """The run, where there is one already."""
        return self._run

    def get(self, **further_settings: Any) -> Run:
        """The run, ready for logging. `further_settings` are for one that begins here, below what was asked for."""
        if self._run is None:
            self._run = init(**{**further_settings, **self.settings})
        elif self.is_own and self._run.finished:
            self._run = self._reopened(self._run)
        return self._run

    def log(self, values: Mapping[str, Any], *, step: int | None = None) -> None:
        """Log numbers as scalars, and strings, which some frameworks allow among them, as texts."""
        run = self.get()
        texts = {tag: value for tag, value in values.items() if isinstance(value, str)}
        run.log({tag: value for tag, value in values.items() if tag not in texts} if texts else values, step)
        for tag, text in texts.items():
            run.text(tag, text, step=step)

    def end(self, *, status: str = "finished") -> None:
        """Nothing is logged for now: finish an own run, flush one that was given."""
        if self._run is None or self._run.finished:
            return
        if self.is_own:
            self._run.finish(status=status)
        else:
            self._run.flush()

    def leave(self) -> None:
        """What follows is another training: an own run ends here, and the next `get` begins another."""
        if self.is_own:
            self.end(status="failed")  # nobody said that it ended well
            self._run = None

    def _reopened(self, run: Run) -> Run:
        # By its id and not with `resume`, which says that a job died and drops what it logged from this step on.
        told_already = ("config", "tags", "notes", "resume")
        settings = {key: value for key, value in self.settings.items() if key not in told_already}
        # Other ranks find it as they found it before, by what rank 0 says.
        where = {"dir": run.directory.parent, "run_id": run.id, "run_tag": ""} if run.rank.is_main else {}
        return init(**{**settings, **where})
