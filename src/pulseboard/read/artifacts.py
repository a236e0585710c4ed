"""The files that a run kept with `run.artifact`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, BinaryIO

from pulseboard.read.run import Run
from pulseboard.rundir.layout import ARTIFACTS_DIRECTORY, recorded_directory
from pulseboard.rundir.regular_file import open_regular
from pulseboard.rundir.run_file import find_run_file

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file, as run.json lists it."""

    name: str
    sha256: str
    size: int  # in bytes
    time: float  # when it was kept, in seconds since 1970


def artifacts_of(run: Run) -> list[Artifact]:
    """The run's artifacts in the order they were kept. Entries of run.json that are not complete are left out."""
    run_file = find_run_file(recorded_directory(run.directory)) if run.directory else None
    listed = [] if run_file is None else run_file.fields.get("artifacts")
    return [found for entry in listed if (found := _artifact(entry))] if isinstance(listed, list) else []


def _artifact(entry: Any) -> Artifact | None:
    if not isinstance(entry, dict):
        return None
    name, sha256, size, time = (entry.get(key) for key in ("name", "sha256", "bytes", "time"))
    if not isinstance(name, str) or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        return None
    size = size if isinstance(size, int) and size >= 0 else 0
    return Artifact(name, sha256, size, float(time) if isinstance(time, int | float) else 0.0)


def open_artifact(run: Run, artifact: Artifact) -> BinaryIO:
    """The file's content. Raises OSError, also if it is a link."""
    path = os.path.join(recorded_directory(run.directory), ARTIFACTS_DIRECTORY, artifact.sha256)
    return open_regular(path, follow_symlinks=False)
