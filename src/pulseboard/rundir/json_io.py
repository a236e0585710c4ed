"""Small JSON files of a run: read within limits, written so that a reader never sees half of one."""

from __future__ import annotations

import json
import os
from typing import Any

from pulseboard.rundir.small_file import UnreadableFile, read_small_file


def read_json(path: str, *, max_bytes: int | None, follow_symlinks: bool = False) -> Any:
    """Parse the file at `path`; raises UnreadableFile. Symbolic links are refused by default."""
    data = read_small_file(path, max_bytes=max_bytes, follow_symlinks=follow_symlinks)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(f"it is not valid JSON ({error})", path=path) from error


def write_json(path: str | os.PathLike[str], value: Any, *, indent: int | None = None) -> None:
    """Write to a temporary file and rename it, so that a reader sees the old file or the new one. Raises OSError."""
    directory, name = os.path.split(os.fspath(path))
    temporary = os.path.join(directory, f".{name}.{os.getpid()}")
    with open(temporary, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(value, indent=indent, ensure_ascii=False) + "\n")
    os.replace(temporary, path)
