"""Marks that users give runs (names, colors, notes, pins), kept in the user's data directory.

One JSON file for all log directories, keyed by the absolute path or URL of each run's log, so a run has the same marks
from whichever log directory it is served. The file is replaced as a whole under a lock, so that two servers do not
lose each other's changes.
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
from pulseboard.core.locations import is_url
from pulseboard.serve.http import schema
from pulseboard.serve.user_data import data_directory

Marks = dict[str, Any]

MARKS = {
    "title": "Marks",
    **schema.record(
        {
            "name": schema.nullable(schema.string("shown instead of the run's name", max_length=500)),
            "color": schema.nullable(schema.string("a CSS color", max_length=64)),
            "hidden": schema.boolean("left out of charts"),
            "note": schema.nullable(schema.string("any text; Markdown", max_length=20_000)),
            "tags": schema.array(schema.string(max_length=200), "labels to find the run by", max_items=100),
            "pinned": schema.boolean("kept at the top"),
            "expected": schema.array(
                schema.string(max_length=200), "slugs of findings that the user marked as expected", max_items=1000
            ),
        },
        "Marks that a user gave a run.",
    ),
}


class MarksNotSaved(PulseboardError):
    """The marks file cannot be written."""


class MarksFile:
    """The marks of every run that has any. Thread-safe."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or data_directory() / "marks.json"
        self._lock = threading.Lock()
        self._version: tuple[int, int] | None = None
        self._marks: dict[str, Marks] = {}

    def all(self) -> Mapping[str, Marks]:
        """Marks by `key_of` the run."""
        # Checked every time, because another server may have changed the file; it takes a microsecond.
        with self._lock:
            return self._read()

    def set(self, marks: Mapping[str, Marks | None]) -> None:
        """Give each run, by its key, exactly these marks; None removes them."""
        with self._lock, self._locked_file():
            all_marks = dict(self._read())
            for key, given in marks.items():
                kept = {name: value for name, value in (given or {}).items() if value not in (None, False, [], "")}
                if kept:
                    all_marks[key] = kept
                else:
                    all_marks.pop(key, None)
            self._write(all_marks)

    # ---- the file

    def _read(self) -> dict[str, Marks]:
        try:
            stat = os.stat(self.path)
        except OSError:
            return {}
        version = (stat.st_mtime_ns, stat.st_ino)
        if version != self._version:
            self._marks, self._version = _read_file(self.path), version
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
            raise self._not_saved(error) from error

    @contextlib.contextmanager
    def _locked_file(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = open(self.path.with_suffix(".lock"), "a")  # noqa: SIM115 - closed below, after the change
        except OSError as error:
            raise self._not_saved(error) from error
        with lock:
            try:
                import fcntl
            except ImportError:  # no file locks on this system: the last writer wins
                yield
                return
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _not_saved(self, error: OSError) -> MarksNotSaved:
        return MarksNotSaved(
            f"Cannot save the marks: {error.strerror}. Free some space, or set PULSEBOARD_DATA_DIR to another "
            f"directory. {self.path}"
        )


@lru_cache(maxsize=1 << 16)
def key_of(location: str, part: str = "") -> str:
    """The key of a run's marks: its URL or real path, and which of several runs there it is.

    Cached, because resolving a path is slow.
    """
    place = location if is_url(location) else os.path.realpath(location)
    return f"{place}#{part}" if part else place


def _read_file(path: Path) -> dict[str, Marks]:
    """The marks in the file. A damaged file is renamed, never overwritten."""
    try:
        marks = json.loads(path.read_text(encoding="utf-8"))["marks"]
        return {str(directory): dict(given) for directory, given in marks.items()}
    except OSError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        with contextlib.suppress(OSError):
            os.replace(path, path.with_suffix(".damaged.json"))
        return {}
