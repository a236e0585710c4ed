"""Names on disk: what makes a file an event file, and a directory a run."""

from __future__ import annotations

import os
import re

RUN_FILE = "run.json"
"""Stands at the top of a run that Pulseboard recorded."""

MODULES_FILE = "module_tree.json"
"""Beside it: the modules of the models that the run watches (files/module_tree.py)."""

EVENTS_DIRECTORY = os.path.join("logs", "tensorboard")
"""Where such a run keeps its event files, below the run's directory."""

RANKS_DIRECTORY = "ranks"
"""Where ranks other than 0 keep what is their own, each in a directory named for its number."""

MEETING_PLACE = ".pulseboard"
"""Below a directory of runs: where processes that begin at the same time find each other."""

ARCHIVED_SUFFIX = ".gz"
"""What an archived event file has behind its name. Plain gzip: `gunzip` brings the file back."""


def is_event_file(name: str) -> bool:
    """Whether a file of this name holds events. TensorBoard's rule, and archived files besides."""
    return "tfevents" in name and not name.endswith(".profile-empty")


def marks_a_run(name: str) -> bool:
    """Whether a file of this name makes its directory a run, be it one without data."""
    return "tfevents" in name


def is_archived(name: str) -> bool:
    """Whether a file of this name is a compressed event file."""
    return is_event_file(name) and name.endswith(ARCHIVED_SUFFIX)


def original_name(name: str) -> str:
    """The event file's name before it was archived; the name itself where it was not."""
    return name.removesuffix(ARCHIVED_SUFFIX) if is_archived(name) else name


def split_root(spec: str) -> tuple[str | None, str]:
    """(name, path) of a `name:path` pair, or (None, path). An existing path wins over a pair."""
    path = os.path.expanduser(spec)
    if os.path.exists(path) or ":" not in spec or spec.startswith("/") or re.match(r"[a-zA-Z]:\\", spec):
        return None, path
    name, _, path = spec.partition(":")
    return name, os.path.expanduser(path)


SIDE_FILES = (RUN_FILE, MODULES_FILE, "training.json", "findings.json")
"""Small files of a recorded run that belong to its log and travel with it."""
