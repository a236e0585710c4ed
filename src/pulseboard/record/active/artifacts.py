"""Artifacts: files that are kept with a run, by the hash of their content."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

from pulseboard.rundir import layout

_CHUNK_BYTES = 1 << 20


def keep(directory: Path, source: Path, *, name: str) -> list[dict[str, Any]]:
    """Copy a file, or every file below a directory, to the run; return what run.json says about each.

    A file that the run has already is not copied again. Raises OSError.
    """
    if not source.is_dir():
        return [_keep_file(directory, source, name=name)]
    files = sorted(path for path in source.rglob("*") if path.is_file())
    return [_keep_file(directory, path, name=f"{name}/{path.relative_to(source).as_posix()}") for path in files]


def _keep_file(directory: Path, source: Path, *, name: str) -> dict[str, Any]:
    kept = directory / layout.ARTIFACTS_DIRECTORY
    kept.mkdir(parents=True, exist_ok=True)
    temporary = kept / f".{os.getpid()}.{os.urandom(4).hex()}"
    try:
        sha256, size = _copy(source, temporary)
        os.replace(temporary, kept / sha256)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
    shutil.copystat(source, kept / sha256)
    return {"name": name, "sha256": sha256, "bytes": size}


def _copy(source: Path, target: Path) -> tuple[str, int]:
    """Copy and hash in one pass, so that the hash is that of the copy even if the source changes meanwhile."""
    digest, size = hashlib.sha256(), 0
    with open(source, "rb") as stream, open(target, "xb") as copy:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
            copy.write(chunk)
            size += len(chunk)
    return digest.hexdigest(), size
