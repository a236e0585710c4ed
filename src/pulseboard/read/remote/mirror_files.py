"""The files of a mirror on disk.

    <cache>/pulseboard/remote/<digest of the URL>/
        mirror.json     the URL, and the version of each file that was fetched
        lock            locked while the mirror is updated
        in-use          locked (shared) by every process that reads the mirror
        part/           files that are being replaced
        files/<name>    the copy: a directory with the last name of the URL, or one file

Nothing in it is trusted: a file whose size is not the recorded one is fetched again. It may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pulseboard.core.errors import PulseboardError
from pulseboard.core.user_cache import cache_directory
from pulseboard.read.remote.store import RemoteFile
from pulseboard.read.remote.url import RemoteUrl

SCHEMA = 1
STATE_FILE = "mirror.json"
IN_USE_FILE = "in-use"

# An update of a mirror may take long; then the next attempt is made later.
_LOCK_SECS, _LOCK_RETRY_SECS = 60.0, 0.05

_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 4000  # Linux allows 4,096, with the terminating zero


class MirrorNotWritten(PulseboardError):
    """The cache directory cannot be written."""

    def __init__(self, error: OSError, path: object) -> None:
        super().__init__(
            f"Cannot write the copy of a remote directory: {error.strerror or error}. Free some space, or set "
            f"XDG_CACHE_HOME to another directory. {path}"
        )


def mirrors_directory() -> Path:
    """The directory that holds all mirrors."""
    return cache_directory() / "remote"


def mirror_directory(url: RemoteUrl) -> Path:
    """The directory of one mirror."""
    return mirrors_directory() / hashlib.sha256(str(url).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def mirrored_path(url: RemoteUrl) -> str:
    """The local path that stands for the URL. Its last name is that of the URL: readers look at names."""
    name = url.name if _is_safe_part(url.name) else "files"
    return str(mirror_directory(url) / "files" / name)


def local_path(top: str, name: str) -> str | None:
    """The path of a file in a mirror; None if its name cannot be a path below `top`."""
    if not name:
        return top
    parts = name.split("/")
    path = os.path.join(top, *parts)
    if not all(map(_is_safe_part, parts)) or len(os.fsencode(path)) > _MAX_PATH_BYTES:
        return None
    return path


def _is_safe_part(part: str) -> bool:
    if part in ("", ".", "..") or "\0" in part or os.sep in part or (os.altsep and os.altsep in part):
        return False
    try:
        return len(os.fsencode(part)) <= _MAX_NAME_BYTES
    except UnicodeError:
        return False


@dataclass(slots=True)
class State:
    """The versions that were fetched, by name."""

    files: dict[str, RemoteFile] = field(default_factory=dict)
    not_logs: dict[str, RemoteFile] = field(default_factory=dict)  # their first bytes showed that they are not logs

    def is_not_log(self, file: RemoteFile) -> bool:
        """Whether the first bytes of a file were checked before. They stay the same as long as it grows."""
        before = self.not_logs.get(file.name)
        return before is not None and file.size >= before.size


class MirrorFiles:
    """One mirror on disk. The methods that change it need `locked`."""

    def __init__(self, url: RemoteUrl) -> None:
        self.url = url
        self.directory = mirror_directory(url)
        self.top = mirrored_path(url)
        self._in_use: weakref.finalize[..., MirrorFiles] | None = None  # closes the file

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from updating the same mirror, and from removing it as long as this object lives."""
        try:
            with self._acquired():
                yield
        except OSError as error:
            raise MirrorNotWritten(error, self.directory) from error

    def _acquired(self) -> IO[bytes]:
        """The lock file, locked."""
        while True:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                stream = open(self.directory / "lock", "ab")  # noqa: SIM115 - the caller closes it
                _lock(stream, shared=False)
                if self._in_use is None or not (self.directory / IN_USE_FILE).exists():
                    self.close()
                    handle = os.open(self.directory / IN_USE_FILE, os.O_RDWR | os.O_CREAT, 0o600)
                    self._in_use = weakref.finalize(self, os.close, handle)
                    _lock(handle, shared=True)
                return stream
            except FileNotFoundError:
                continue  # another process removed the mirror just now

    def close(self) -> None:
        """Allow other processes to remove the mirror."""
        if self._in_use is not None:
            self._in_use()
            self._in_use = None

    # ---- state

    def load(self) -> State:
        """What was fetched so far; nothing if that is not known."""
        try:
            state = json.loads((self.directory / STATE_FILE).read_text(encoding="utf-8"))
            if state["schema"] != SCHEMA or state["url"] != str(self.url):
                return State()
            files, not_logs = ([RemoteFile(*fields) for fields in state[key]] for key in ("files", "not_logs"))
            return State({file.name: file for file in files}, {file.name: file for file in not_logs})
        except (OSError, ValueError, KeyError, TypeError):
            return State()

    def save(self, state: State) -> None:
        """Replace what is recorded."""
        record = {
            "schema": SCHEMA,
            "url": str(self.url),
            "bytes": sum(file.size for file in state.files.values()),
            "files": [list(file) for file in state.files.values()],
            "not_logs": [list(file) for file in state.not_logs.values()],
        }
        part = self.part()
        part.write_text(json.dumps(record), encoding="utf-8")
        os.replace(part, self.directory / STATE_FILE)

    # ---- files

    def part(self) -> Path:
        """A new file that will replace another one."""
        folder = self.directory / "part"
        folder.mkdir(exist_ok=True)
        return folder / f"{os.getpid()}-{os.urandom(6).hex()}"

    def remove_parts(self) -> None:
        """Remove what a killed process left."""
        shutil.rmtree(self.directory / "part", ignore_errors=True)

    def path_of(self, name: str) -> str | None:
        """Where a file is or will be; None if its name cannot be a path below the mirror."""
        return local_path(self.top, name)

    def sizes(self) -> dict[str, int]:
        """Every file that is there, by name, with its size."""
        found: dict[str, int] = {}
        if os.path.isfile(self.top):
            found[""] = os.path.getsize(self.top)
        for parent, _, names in os.walk(self.top):
            for name in names:
                path = os.path.join(parent, name)
                with contextlib.suppress(OSError):
                    found[os.path.relpath(path, self.top).replace(os.sep, "/")] = os.lstat(path).st_size
        return found

    def remove(self, name: str) -> None:
        """Remove a file, and the directories that are empty without it."""
        path = self.path_of(name)
        if path is None:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        while path != self.top:
            path = os.path.dirname(path)
            try:
                os.rmdir(path)
            except OSError:
                return


def _lock(stream: IO[bytes] | int, *, shared: bool, wait_secs: float = _LOCK_SECS) -> None:
    """Raises OSError if another process holds the lock for longer than this."""
    try:
        import fcntl
    except ImportError:  # no file locks on this system: the last writer wins
        return
    end = time.monotonic() + wait_secs
    while True:
        try:
            fcntl.flock(stream, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= end:
                raise OSError(error.errno, f"another process has held its lock for {wait_secs:g} s") from None
        time.sleep(_LOCK_RETRY_SECS)


def remove_unused(directory: Path) -> bool:
    """Remove a mirror unless a process uses it. Returns whether it is gone."""
    try:
        with open(directory / IN_USE_FILE, "ab") as stream:
            _lock(stream, shared=False, wait_secs=0.0)
            shutil.rmtree(directory)
    except OSError:
        return not directory.exists()
    return True
