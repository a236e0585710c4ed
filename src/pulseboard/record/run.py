"""Starting a run: `init` creates one or resumes one, `current_run` finds it from anywhere in the program."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from pulseboard.core.config import as_mapping
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.settings import load_settings

_current: ActiveRun | None = None


def init(
    *,
    dir: str | os.PathLike[str] | None = None,
    run_id: str | None = None,
    run_tag: str | None = None,
    config: Any = None,
    tags: Iterable[str] = (),
    notes: str = "",
    report_to: str | Iterable[str] | None = None,
    resume: str | None = None,
    settings_file: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> ActiveRun:
    """Start a run in the log directory `dir` ('runs'), or resume one: `resume` is 'latest' or a run's id.

    In a distributed training, call this in every process: rank 0 writes the run, the others write only what
    they log with `per_rank=True`. For the other settings, and where they can be set, see record/settings.py.
    """
    global _current
    log_directory = None if dir is None else os.fspath(dir)
    settings |= {"runs_dir": log_directory, "run_id": run_id, "run_tag": run_tag, "report_to": report_to}
    chosen, file_config = load_settings(settings_file, **settings)
    _current = ActiveRun(chosen, config={**file_config, **as_mapping(config)}, tags=tags, notes=notes, resume=resume)
    return _current


def current_run() -> ActiveRun | None:
    """The run that `init` returned last, or None if there is none or it is finished."""
    return _current if _current is not None and not _current.finished else None
