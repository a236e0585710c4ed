"""User marks on runs: names, colours, notes and their like, kept in the user's data directory.

One JSON file for all log directories, by the absolute directory of each run: however a run is reached, its marks are
the same. The file is replaced whole, under a lock, so that two servers lose nothing of each other's.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pulseboard.core.errors import PulseboardError
from pulseboard.serve import schema
from pulseboard.serve.places import data_directory

Marks = dict[str, Any]

MARKS = {
    "title": "Marks",
    **schema.record(
        {
            "name": schema.or_null(schema.text("shown in place of the run's name", most=500)),
            "color": schema.or_null(schema.text("a CSS colour", most=64)),
            "hidden": schema.flag("left out of charts"),
            "note": schema.or_null(schema.text("any text; Markdown", most=20_000)),
            "tags": schema.several(schema.text(most=200), "words to find it by", most=100),
            "pinned": schema.flag("kept on top"),
            "expected": schema.several(schema.text(most=200), "findings the user knows about, by slug", most=1000),
        },
        "What a user has said about a run.",
    ),
}


class MarksNotKept(PulseboardError):
    """The marks could not be written. They are lost when the server ends."""


class MarksFile:
    """The marks of every run that has any."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or data_directory() / "marks.json"
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._marks: dict[str, Marks] = {}

    def of(self, directory: str) -> Marks | None:
        """The marks of the run in a directory."""
        return self._current().get(key_of(directory))

    def all(self) -> Mapping[str, Marks]:
        """Marks by directory."""
        return self._current()

    def set(self, marks: Mapping[str, Marks | None]) -> None:
        """Give each directory exactly these marks; None takes them away."""
        with self._lock, self._locked_file():
            now = dict(self._read())
            for directory, said in marks.items():
                kept = {name: value for name, value in (said or {}).items() if value not in (None, False, [], "")}
                if kept:
                    now[key_of(directory)] = kept
                else:
                    now.pop(key_of(directory), None)
            self._write(now)

    # ---- the file

    def _current(self) -> dict[str, Marks]:
        # Looked at every time: another server may have changed it, and a look takes a microsecond.
        with self._lock:
            return self._read()

    def _read(self) -> dict[str, Marks]:
        try:
            stat = os.stat(self.path)
        except OSError:
            return {}
        seen = (stat.st_mtime_ns, stat.st_ino)
        if seen != self._seen:
            self._marks, self._seen = _read_file(self.path), seen
        return self._marks

    def _write(self, marks: dict[str, Marks]) -> None:
        import tempfile

        part = None
        try:
            handle, part = tempfile.mkstemp(prefix=".marks-", dir=self.path.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump({"schema": 1, "marks": marks}, stream, indent=1)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(part, self.path)
        except OSError as error:
            if part is not None:
                with contextlib.suppress(OSError):
                    os.unlink(part)
            raise MarksNotKept(
                f"The marks could not be kept: {error.strerror}. Make room or another place: {self.path}"
            ) from error

    @contextlib.contextmanager
    def _locked_file(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = open(self.path.with_suffix(".lock"), "a")  # noqa: SIM115 - closed below, after the change
        except OSError as error:
            raise MarksNotKept(
                f"The marks could not be kept: {error.strerror}. Make room or another place: {self.path}"
            ) from error
        with lock:
            try:
                import fcntl
            except ImportError:  # no such locks on this system: the last writer wins
                yield
                return
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


@lru_cache(maxsize=1 << 16)
def key_of(directory: str) -> str:
    """What the marks of a run in this directory are kept by. Remembered: the file system is slow to ask."""
    return os.path.realpath(directory)


def _read_file(path: Path) -> dict[str, Marks]:
    """The marks in the file. What is no marks is put aside under another name, never overwritten."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))["marks"]
        return {str(directory): dict(marks) for directory, marks in said.items()}
    except OSError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        with contextlib.suppress(OSError):
            os.replace(path, path.with_suffix(".damaged.json"))
        return {}
