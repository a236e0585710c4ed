"""Marks that users give runs (names, colors, notes, pins), kept in the user's data directory.

One JSON file for all log directories, keyed by the absolute path or URL of each run's log, so a run has the same marks
from whichever log directory it is served. The file is replaced as a whole under a lock, so that two servers do not
lose each other's changes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from pulseboard.core.locations import is_url
from pulseboard.serve.http import schema
from pulseboard.serve.http.errors import CannotStore, Conflict, ServerBusy
from pulseboard.serve.user_data import data_directory

Marks = dict[str, Any]

SCHEMA = 1
"""The version of the file's layout. A file with a greater number is read as far as possible, and never written."""

# A server holds the lock for milliseconds. One that was stopped while it held it must not stop the others.
_LOCK_SECS = 5.0
_LOCK_RETRY_SECS = 0.02
# Named, `#rgb` to `#rrggbbaa`, and the functions of CSS: a color must not be able to bring a URL or other properties.
_COLOR = r"^(#[0-9A-Fa-f]{3,8}|[A-Za-z]{3,30}|(rgb|rgba|hsl|hsla|hwb|lab|lch|oklab|oklch)\([-0-9A-Za-z.,%/ ]{1,50}\))$"

MARKS = {
    "title": "Marks",
    **schema.record(
        {
            "name": schema.nullable(schema.string("shown instead of the run's name", max_length=500)),
            "color": schema.nullable(schema.string("a CSS color", max_length=64, pattern=_COLOR)),
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


class MarksNotSaved(CannotStore):
    """The marks file cannot be written."""


class MarksFile:
    """The marks of every run that has any. Thread-safe, and reading never waits for writing."""

    def __init__(self, path: Path | None = None, *, lock_secs: float = _LOCK_SECS) -> None:
        self.path = path or data_directory() / "marks.json"
        self._lock_secs = lock_secs
        self._lock = threading.Lock()  # of what follows; held for the time of one read at most
        self._writing = threading.Lock()
        self._version: tuple[int, int, int] | None = None
        self._marks: dict[str, Marks] = {}
        self._schema = SCHEMA

    def all(self) -> Mapping[str, Marks]:
        """Marks by `key_of` the run."""
        # Checked every time, because another server may have changed the file; it takes a microsecond.
        with self._lock:
            return self._read()

    def set(self, marks: Mapping[str, Marks | None]) -> None:
        """Give each run, by its key, exactly these marks; None removes them. Raises an HttpError if it cannot."""
        with self._writing, self._locked_file():
            all_marks = dict(self.all())
            if self._schema > SCHEMA:
                raise Conflict(
                    "A newer version of Pulseboard wrote the marks.",
                    do=f"Update Pulseboard, or set PULSEBOARD_DATA_DIR to another directory. {self.path}",
                )
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
        version = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        if version != self._version:
            self._schema, self._marks = _read_file(self.path)
            self._version = version
        return self._marks

    def _write(self, marks: dict[str, Marks]) -> None:
        import tempfile

        part = None
        try:
            handle, part = tempfile.mkstemp(prefix=".marks-", dir=self.path.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump({"schema": SCHEMA, "marks": marks}, stream, indent=1)
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
            self._wait_for(lock)
            yield

    def _wait_for(self, lock: IO[str]) -> None:
        """Lock the file, or raise ServerBusy. Where there are no file locks, the last writer wins."""
        try:
            import fcntl
        except ImportError:
            return
        end = time.monotonic() + self._lock_secs
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                    return  # a file system without locks
            if time.monotonic() > end:
                raise ServerBusy(
                    f"Cannot save the marks: another process has held their lock for {self._lock_secs:g} s.",
                    do=f"Try again, or end that process. {lock.name}",
                )
            time.sleep(_LOCK_RETRY_SECS)

    def _not_saved(self, error: OSError) -> MarksNotSaved:
        return MarksNotSaved(
            f"Cannot save the marks: {error.strerror}.",
            do=f"Free some space, or set PULSEBOARD_DATA_DIR to another directory. {self.path}",
        )


@lru_cache(maxsize=1 << 16)
def key_of(location: str, part: str = "") -> str:
    """The key of a run's marks: its URL or real path, and which of several runs there it is.

    Cached, because resolving a path is slow.
    """
    place = location if is_url(location) else os.path.realpath(location)
    return f"{place}#{part}" if part else place


def _read_file(path: Path) -> tuple[int, dict[str, Marks]]:
    """The file's schema and its marks. A damaged file is renamed, never overwritten; a newer one stays."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        version = data.get("schema", SCHEMA)
        if not isinstance(version, int) or isinstance(version, bool):
            raise ValueError("the schema is not a number")
        if version > SCHEMA:
            return version, _understood(data.get("marks"))
        return version, {str(directory): dict(given) for directory, given in data["marks"].items()}
    except OSError:
        return SCHEMA, {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        _set_aside(path)
        return SCHEMA, {}


def _understood(marks: Any) -> dict[str, Marks]:
    """What a newer file has that this version knows: marks of the names and types in MARKS."""
    out: dict[str, Marks] = {}
    for directory, given in marks.items() if isinstance(marks, dict) else ():
        if isinstance(given, dict):
            out[str(directory)] = {name: value for name, value in given.items() if _is_known(name, value)}
    return out


def _is_known(name: str, value: Any) -> bool:
    from pulseboard.serve.http.errors import BadRequest
    from pulseboard.serve.http.validation import validate

    known = MARKS["properties"].get(name)
    if known is None:
        return False
    try:
        validate(value, known, at=name)
    except BadRequest:
        return False
    return True


def _set_aside(path: Path) -> None:
    """Rename a damaged file to the first of marks.damaged.json, marks.damaged-2.json, … that is free."""
    for number in range(1, 1000):
        name = path.with_suffix(f".damaged{'' if number == 1 else f'-{number}'}{path.suffix}")
        try:
            os.link(path, name)  # unlike a rename, this fails if the name is taken
        except FileExistsError:
            continue
        except OSError:  # a file system without hard links
            if name.exists():
                continue
            with contextlib.suppress(OSError):
                os.replace(path, name)
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        return
