"""Names on disk: which files are event files, and where a recorded run keeps its own files."""

from __future__ import annotations

import os
import re

from pulseboard.core.locations import is_url

RUN_FILE = "run.json"
"""At the top of a recorded run's directory (rundir/run_file.py)."""

MODULES_FILE = "module_tree.json"
"""Next to run.json: the modules of the models that the run watches (rundir/modules_file.py)."""

JSON_LOG_FILE = "training.json"
"""The JSON log, unless the user chooses another name."""

EVENTS_DIRECTORY = os.path.join("logs", "tensorboard")
"""Where a recorded run keeps its event files, below the run's directory."""

ARTIFACTS_DIRECTORY = "artifacts"
"""Where a recorded run keeps copies of files, each named after the SHA-256 of its content; run.json lists them."""

RANKS_DIRECTORY = "ranks"
"""Where ranks other than 0 keep their own files, each in a directory named after its number."""

COORDINATION_DIRECTORY = ".pulseboard"
"""In a log directory: where processes that start at the same time find each other."""

ARCHIVED_SUFFIX = ".gz"
"""Appended to the name of an archived event file. Plain gzip: `gunzip` restores the file."""

SIDE_FILES = (RUN_FILE, MODULES_FILE, JSON_LOG_FILE, "findings.json")
"""Small files of a recorded run that are archived and copied together with its event files."""


def is_event_file(name: str) -> bool:
    """Whether a file of this name holds events, archived ones included. TensorBoard's rule."""
    return "tfevents" in name and not name.endswith(".profile-empty")


def marks_a_run(name: str) -> bool:
    """Whether a file of this name makes its directory a run, even without data in it."""
    return "tfevents" in name


def is_archived(name: str) -> bool:
    """Whether a file of this name is a compressed event file."""
    return is_event_file(name) and name.endswith(ARCHIVED_SUFFIX)


def original_name(name: str) -> str:
    """The event file's name before it was archived; the same name if it was not."""
    return name.removesuffix(ARCHIVED_SUFFIX) if is_archived(name) else name


def recorded_directory(directory: str) -> str:
    """The directory with the run.json, given where a recorded run keeps its event files; others stay as they are."""
    return directory.removesuffix(os.sep + EVENTS_DIRECTORY)


def split_named_path(spec: str) -> tuple[str | None, str]:
    """Split `name:path` into (name, path); a plain path or URL gives (None, path). An existing path is never split."""
    path = os.path.expanduser(spec)
    if is_url(spec):
        return None, spec
    if os.path.exists(path) or ":" not in spec or spec.startswith("/") or re.match(r"[a-zA-Z]:\\", spec):
        return None, path
    name, _, path = spec.partition(":")
    return name, os.path.expanduser(path)
