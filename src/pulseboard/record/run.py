"""Starting a run: `init` creates one or resumes one, `current_run` finds it from anywhere in the program."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from typing import Any

from pulseboard.core.config import as_mapping
from pulseboard.core.errors import PulseboardError
from pulseboard.core.locations import is_url
from pulseboard.record.active.fork import fork_point
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.setting import BadSetting
from pulseboard.record.settings import load_settings

_current: ActiveRun | None = None


def init(
    *,
    dir: str | os.PathLike[str] | None = None,
    project: str | None = None,
    name: str | None = None,
    run_id: str | None = None,
    run_tag: str | None = None,
    group: str | None = None,
    job_type: str | None = None,
    config: Any = None,
    tags: str | Iterable[str] = (),
    notes: str = "",
    report_to: str | Iterable[str] | None = None,
    resume: str | bool | None = None,
    mode: str | None = None,
    fork_from: ActiveRun | str | os.PathLike[str] | None = None,
    step: int | None = None,
    settings_file: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> ActiveRun:
    """Start a run in the log directory `dir` ('runs'), or resume one.

    resume    a run's id; 'latest': the last run of this program, or with the given `run_tag`; 'allow': the run of the
              given `run_id` if it exists, or else a new one
    project   a folder within `dir`
    name      appended to the run's number, like `run_tag`, unless that is given too
    group     with `job_type`: words that run.json keeps
    mode      'disabled': nothing is written, and every call is accepted

    fork_from a run, its id or its directory: the new run continues it after `step` (by default its last one), and the
              dashboard draws the other's curves up to that step in front of its own

    In a distributed training, call this in every process: rank 0 writes the run, the others write only what
    they log with `per_rank=True`. For the other settings, and where they can be set, see record/settings.py.
    """
    global _current
    fork = None if fork_from is None else fork_point(fork_from, step)
    log_directory = None if dir is None else os.fspath(dir)
    run_tag = name if run_tag is None else run_tag
    settings |= {"runs_dir": log_directory, "run_id": run_id, "run_tag": run_tag, "report_to": report_to}
    chosen, file_config = load_settings(settings_file, **settings)
    if project is not None:
        chosen = dataclasses.replace(chosen, runs_dir=os.path.join(chosen.runs_dir, project))
    if is_url(chosen.runs_dir):
        raise BadSetting(
            "Runs are recorded to a directory of this machine. Record there and copy it, or mount the bucket; "
            f"`pulseboard {chosen.runs_dir}` shows what is there. Not a directory: {chosen.runs_dir}"
        )
    if mode not in (None, "online", "offline", "disabled"):
        raise BadSetting(f"mode must be 'online', 'offline' or 'disabled', not {mode!r}.")
    _current = _run_class(mode)(
        chosen,
        config={**file_config, **as_mapping(config)},
        tags=tags,
        notes=notes,
        resume=_resume(resume, run_id),
        labels={"project": project, "name": name, "group": group, "job_type": job_type},
    )
    if fork is not None:
        _current.continue_from(*fork)
    return _current


def _run_class(mode: str | None) -> type[ActiveRun]:
    if mode != "disabled":
        return ActiveRun
    from pulseboard.record.active.disabled import DisabledRun  # few need it

    return DisabledRun


def _resume(resume: str | bool | None, run_id: str | None) -> str | None:
    """What to resume. W&B's words mean the same here: True, 'auto', 'must' and 'never'."""
    if resume in (None, False, "never"):
        return None
    if resume in (True, "auto"):
        return "allow"
    if resume == "must":
        return run_id or "latest"
    return str(resume)


def reopen(run: ActiveRun, **settings: Any) -> ActiveRun:
    """Continue a run of this process that was finished, with these settings. Nothing of it is orphaned."""
    global _current
    chosen, _ = load_settings(**settings)
    _current = ActiveRun(chosen, reopen=run.directory if run.rank.is_main else None)
    return _current


def log(values: Mapping[str, Any], step: int | None = None, *, per_rank: bool = False) -> None:
    """Log to the run that `init` returned last: see ActiveRun.log."""
    _started("log").log(values, step, per_rank=per_rank)


def finish(*, status: str = "finished") -> None:
    """Finish the run that `init` returned last. Without one, nothing happens."""
    if _current is not None:
        _current.finish(status=status)


def _started(call: str) -> ActiveRun:
    if _current is None:
        raise PulseboardError(f"pulseboard.{call}() has no run. Call pulseboard.init() first.")
    return _current


def current_run() -> ActiveRun | None:
    """The run that `init` returned last, or None if there is none or it is finished."""
    return _current if _current is not None and not _current.finished else None
