"""A run's directory: its id, and run.json, which says what the run is and whether it is alive."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import getpass
import importlib.metadata
import json
import os
import platform
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulseboard.core.errors import PulseboardError
from pulseboard.files import layout

if TYPE_CHECKING:
    from pulseboard.core.module_tree import ModuleTree

_ID = re.compile(r"(\d{4}-\d{2}-\d{2})_(\d{3,})(?:-.*)?")


class NoRunToResume(PulseboardError):
    """Resuming was asked for, and there is no such run."""


def new_run_directory(runs: Path, *, run_id: str | None, run_tag: str | None, today: datetime.date) -> Path:
    """Make the directory of a new run: `<date>_<three digits>`, with `-<run tag>` where one is given.

    Jobs that start together get different numbers, whatever their tags.
    """
    runs.mkdir(parents=True, exist_ok=True)
    ending = f"-{_safe(run_tag)}" if run_tag else ""
    if run_id is not None:
        directory = runs / (_safe(run_id) + ending)
        directory.mkdir(parents=True, exist_ok=True)
        return directory
    date = today.isoformat()
    with _only_one(runs):
        taken = [int(m[2]) for name in os.listdir(runs) if (m := _ID.fullmatch(name)) and m[1] == date]
        number = max(taken, default=0) + 1
        while True:
            directory = runs / f"{date}_{number:03d}{ending}"
            try:
                directory.mkdir()
            except FileExistsError:
                number += 1
            else:
                return directory


@contextlib.contextmanager
def _only_one(runs: Path) -> Iterator[None]:
    """Keep other jobs from choosing a number meanwhile; where the file system has no locks, hope."""
    place = runs / layout.MEETING_PLACE
    place.mkdir(exist_ok=True)
    with open(place / "lock", "a", encoding="utf-8") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run_to_resume(runs: Path, which: str) -> Path:
    """The directory of the run called `which`, or of the latest one."""
    if which != "latest":
        directory = runs / which
        if not directory.is_dir():
            near = (
                sorted(path.name for path in runs.glob(f"*{glob_safe(which)}*") if path.is_dir())
                if runs.is_dir()
                else []
            )
            hint = f"Did you mean {near[-1]!r}?" if near else "`pulseboard ls` lists the runs."
            raise NoRunToResume(f"There is no run {which!r} to resume. {hint} Looked in {runs}")
        return directory
    found = [path.parent for path in runs.glob(f"*/{layout.RUN_FILE}")] if runs.is_dir() else []
    if not found:
        raise NoRunToResume(f"There is no run to resume yet: no {layout.RUN_FILE} below {runs}")
    return max(found, key=lambda path: (_heartbeat(path), path.name))


def glob_safe(text: str) -> str:
    """The text with what glob reads as a pattern taken literally."""
    return re.sub(r"([*?\[])", r"[\1]", text)


def _heartbeat(directory: Path) -> float:
    try:
        told = json.loads((directory / layout.RUN_FILE).read_text(encoding="utf-8"))
        return float(told.get("heartbeat") or told.get("started") or 0)
    except (OSError, ValueError, TypeError, AttributeError):
        return 0.0


def _safe(name: str) -> str:
    """A name as one path component."""
    cleaned = re.sub(r"[^\w.+=@-]+", "-", name).strip("-.") or "run"
    return cleaned[:120]


class RunFile:
    """run.json. Always whole: it is written beside itself and renamed."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / layout.RUN_FILE
        self.told: dict[str, Any] = {}
        self._telling = threading.RLock()  # a signal may end the run while it is being told of
        try:
            before = json.loads(self.path.read_text(encoding="utf-8"))
            if isinstance(before, dict):
                self.told = before
        except (OSError, ValueError):
            pass

    def tell(self, **what: Any) -> None:
        """Set fields and write. Raises OSError where the disk does not take it."""
        with self._telling:
            self.told.update(what)
            write_whole(self.path, json.dumps(_plain(self.told), indent=2, ensure_ascii=False))


def write_modules(path: Path, trees: Sequence[ModuleTree]) -> None:
    """The modules of the run's models. Takes a tenth of a second for thousands: call it from a thread."""
    # Only who has a model needs this, and importing pulseboard is to stay cheap.
    from pulseboard.files.module_tree import as_json

    write_whole(path, json.dumps(as_json(trees), ensure_ascii=False))


def write_whole(path: Path, text: str) -> None:
    """Write a file beside itself and rename it: whoever reads it meets the old one or the new one."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with open(part, "w", encoding="utf-8") as stream:
        stream.write(text + "\n")
    os.replace(part, path)


def circumstances() -> dict[str, Any]:
    """How and where this process runs: command, host, versions."""
    return {
        "command": " ".join([os.path.basename(sys.executable), *sys.argv]) if sys.argv else "",
        "working_directory": os.getcwd(),
        "host": socket.gethostname(),
        "user": _user(),
        "pid": os.getpid(),
        "versions": _versions(),
        "platform": platform.platform(),
    }


def git_state() -> dict[str, Any] | None:
    """The commit of the working directory, and whether it has changes; None outside a repository.

    In a large repository git may take seconds: ask from a thread.
    """

    def ask(*args: str) -> str | None:
        try:
            done = subprocess.run(["git", *args], capture_output=True, text=True, timeout=5, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip()

    commit = ask("rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "branch": ask("branch", "--show-current"), "dirty": bool(ask("status", "--porcelain"))}


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("pulseboard", "torch", "numpy", "jax", "tensorflow", "transformers", "lightning"):
        # Only what the job has loaded, and without loading more.
        if name == "pulseboard" or name in sys.modules:
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
    return found


def _plain(value: Any) -> Any:
    """Anything a config may hold, as JSON has it: NaN and infinities as words, the rest as text."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else repr(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if hasattr(value, "__dict__") and not isinstance(value, type) and vars(value):
        return {str(key): _plain(item) for key, item in vars(value).items() if not key.startswith("_")}
    return str(value)


def now() -> float:
    """Seconds since 1970, to the millisecond."""
    return round(time.time(), 3)
