"""Forks: a run that continues another one from some step, with other settings."""

from __future__ import annotations

import os
from pathlib import Path

from pulseboard.record.active_run import ActiveRun
from pulseboard.record.setting import BadSetting


def fork_point(parent: ActiveRun | str | os.PathLike[str], step: int | None) -> tuple[str, int]:
    """The id of the run to fork, and the last step to keep of it. Raises BadSetting if the step is not known."""
    if step is None:
        if not isinstance(parent, ActiveRun) or parent.last_step < 0:
            raise BadSetting("The step of the fork is missing. Add step=, the last step of the other run to keep.")
        step = parent.last_step
    return parent.id if isinstance(parent, ActiveRun) else Path(parent).name, step
