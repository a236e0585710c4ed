"""A JSON file in the user's data directory that several servers may change at the same time.

The file is replaced as a whole under a lock, so that two servers do not lose each other's changes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

from pulseboard.serve.http.errors import CannotStore, Conflict, ServerBusy

EntriesByKey = dict[str, dict[str, Any]]

SCHEMA = 1
"""The version of the file's layout. A file with a greater number is read as far as possible, and never written."""

# A server holds the lock for milliseconds. One that was stopped while it held it must not stop the others.
LOCK_SECS = 5.0
_LOCK_RETRY_SECS = 0.02


class Entries(Protocol):
    """Entries by key that several servers may change: in a file, or in a database."""

    def all(self) -> Mapping[str, dict[str, Any]]:
        """Every entry."""

    def change(self, update: Callable[[EntriesByKey], None], *, by: str | None = None) -> None:
        """Let `update` change the entries, and save them. `by` is the user's name, if it is known."""


class NotSaved(CannotStore):
    """A file in the user's data directory cannot be written."""


class UserFile:
    """Entries by key, each a JSON object. Thread-safe, and reading never waits for writing."""

    def __init__(
        self,
        path: Path,
        *,
        holds: str,
        understood: Callable[[dict[str, Any]], dict[str, Any]] = lambda entry: entry,
        lock_secs: float = LOCK_SECS,
    ) -> None:
        """`holds` is what the entries are, in the plural: `marks`. It is the key in the file and in messages.

        `understood` returns the part of an entry of a newer file that this version knows.
        """
        self.path = path
        self._holds = holds
        self._understood = understood
        self._lock_secs = lock_secs
        self._lock = threading.Lock()  # of what follows; held for the time of one read at most
        self._writing = threading.Lock()
        self._version: tuple[int, int, int] | None = None
        self._entries: EntriesByKey = {}
        self._schema = SCHEMA

    def all(self) -> Mapping[str, dict[str, Any]]:
        """Every entry."""
        # Checked every time, because another server may have changed the file; it takes a microsecond.
        with self._lock:
            return self._read()

    def change(self, update: Callable[[EntriesByKey], None], *, by: str | None = None) -> None:
        """Let `update` change the entries, and save them. Raises an HttpError if it cannot."""
        with self._writing, self._locked_file():
            entries = dict(self.all())
            if self._schema > SCHEMA:
                raise Conflict(
                    f"A newer version of Pulseboard wrote the {self._holds}.",
                    do=f"Update Pulseboard, or set PULSEBOARD_DATA_DIR to another directory. {self.path}",
                )
            update(entries)
            self._write(entries)

    def _read(self) -> EntriesByKey:
        try:
            stat = os.stat(self.path)
        except OSError:
            return {}
        version = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        if version != self._version:
            self._schema, self._entries = self._load()
            self._version = version
        return self._entries

    def _load(self) -> tuple[int, EntriesByKey]:
        """The file's schema and its entries. A damaged file is renamed, never overwritten; a newer one stays."""
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            version = data.get("schema", SCHEMA)
            if not isinstance(version, int) or isinstance(version, bool):
                raise ValueError("the schema is not a number")
            if version > SCHEMA:
                return version, self._known_part(data.get(self._holds))
            return version, {str(key): dict(entry) for key, entry in data[self._holds].items()}
        except OSError:
            return SCHEMA, {}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            _set_aside(self.path)
            return SCHEMA, {}

    def _known_part(self, entries: Any) -> EntriesByKey:
        found = entries.items() if isinstance(entries, dict) else ()
        return {str(key): self._understood(entry) for key, entry in found if isinstance(entry, dict)}

    def _write(self, entries: EntriesByKey) -> None:
        import tempfile

        part = None
        try:
            handle, part = tempfile.mkstemp(prefix=f".{self._holds}-", dir=self.path.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump({"schema": SCHEMA, self._holds: entries}, stream, indent=1)
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
                    f"Cannot save the {self._holds}: another process has held their lock for {self._lock_secs:g} s.",
                    do=f"Try again, or end that process. {lock.name}",
                )
            time.sleep(_LOCK_RETRY_SECS)

    def _not_saved(self, error: OSError) -> NotSaved:
        return NotSaved(
            f"Cannot save the {self._holds}: {error.strerror}.",
            do=f"Free some space, or set PULSEBOARD_DATA_DIR to another directory. {self.path}",
        )


def _set_aside(path: Path) -> None:
    """Rename a damaged file to the first of NAME.damaged.json, NAME.damaged-2.json, … that is free."""
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
