"""What is stored about a run other than what it logged: a description, and its small files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Iterator
from typing import Any

from pulseboard.charts.local import last_step_of
from pulseboard.core.errors import PulseboardError
from pulseboard.read.config.files import HYDRA_FILE, WANDB_FILES
from pulseboard.read.config.sources import config_paths
from pulseboard.read.parsed_run import ParsedRun
from pulseboard.read.run import Run
from pulseboard.rundir import layout
from pulseboard.rundir.small_file import read_small_file

_MAX_FILE_BYTES = 8 << 20
_MAX_NOTES = 100


def description(run: Run) -> dict[str, Any]:
    """A run, or one rank of it, as JSON can hold it."""
    return {
        "name": run.name,
        "aliases": list(run.aliases),
        "location": run.location,
        "format": run.format,
        "identity": list(run.identity),
        "started": _number(run.started),
        "ended": _number(run.ended),
        "last_active": run.last_active,
        "last_written": run.last_written,
        "last_step": last_step_of(run),
        "points": run.points,
        "size_bytes": run.size_bytes,
        "bytes_by_kind": run.bytes_by_kind(),
        "restarts": [[restart.step, restart.wall_time] for restart in run.restarts()],
        "axis": run.axis.as_dict(),
        "notes": [list(note) for note in run.notes()[:_MAX_NOTES]],
        "event_files": not isinstance(run.main, ParsedRun),
        "logs": [_log(log) for log in run.logs() if isinstance(log, ParsedRun)],
    }


def _log(log: ParsedRun) -> dict[str, Any]:
    return {
        "name": log.name,
        "format": log.format,
        "file": os.path.basename(log.path),
        "config": log.config(),
        "span": [_number(log.started), _number(log.ended)],
    }


def as_json(value: Any) -> str:
    """JSON of a description. What a configuration holds and JSON cannot is stored as text."""
    return json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def file_times(run: Run, *, shared: Collection[str]) -> dict[str, tuple[str, int]]:
    """The small files of a run: name -> path and time of the last change."""
    directory = layout.recorded_directory(run.directory)
    found = [(name, os.path.join(directory, name)) for name in (layout.RUN_FILE, layout.MODULES_FILE)]
    found += [(_name_of(path), path) for path in config_paths(run, shared)]
    out: dict[str, tuple[str, int]] = {}
    for name, path in found:
        try:
            out.setdefault(name, (path, os.stat(path, follow_symlinks=False).st_mtime_ns))
        except OSError:
            continue
    return out


def _name_of(path: str) -> str:
    """The name of a configuration file in the copy of its directory, where it must be found again."""
    return next((name for name in (HYDRA_FILE, *WANDB_FILES) if path.endswith(os.sep + name)), os.path.basename(path))


def contents(paths: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each small file that can be read."""
    for name, path in paths.items():
        try:
            yield name, read_small_file(path, max_bytes=_MAX_FILE_BYTES)
        except PulseboardError:
            continue
