"""run.json: what a recorded run is, and whether it is still alive. Its schema, its reader and its writer."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pulseboard.core.json_numbers import encode_number
from pulseboard.rundir import layout
from pulseboard.rundir.json_io import read_json, write_json
from pulseboard.rundir.small_file import UnreadableFile

SCHEMA = 1
MAX_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Fork:
    """The run that another one continues with other settings, and the last step that it takes from it."""

    run: str  # its id
    step: int


@dataclass(frozen=True, slots=True)
class RunFile:
    """The fields of run.json that Pulseboard reads. A field that is missing or of the wrong type has its default."""

    id: str = ""
    status: str | None = None  # running, finished, failed or killed
    started: float | None = None  # seconds since 1970, as are the next two
    heartbeat: float | None = None  # while it runs, about every ten seconds
    ended: float | None = None
    world_size: int | None = None
    config: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    notes: str = ""
    resumed: tuple[float, ...] = ()  # when the run was resumed
    fork: Fork | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)  # everything in the file: command, host, versions, git, …

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> RunFile:
        """From the parsed file."""
        config, tags, resumed = fields.get("config"), fields.get("tags"), fields.get("resumed")
        world_size = fields.get("world_size")
        return cls(
            id=_text(fields.get("id")) or "",
            status=_text(fields.get("status")),
            started=_number(fields.get("started")),
            heartbeat=_number(fields.get("heartbeat")),
            ended=_number(fields.get("ended")),
            world_size=world_size if isinstance(world_size, int) and not isinstance(world_size, bool) else None,
            config=config if isinstance(config, dict) else {},
            tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
            notes=_text(fields.get("notes")) or "",
            resumed=tuple(at for at in resumed if _number(at) is not None) if isinstance(resumed, list) else (),
            fork=_fork(fields.get("fork")),
            fields=fields,
        )

    @property
    def last_active(self) -> float:
        """When the run was last known to be alive, in seconds since 1970; 0 if the file does not say."""
        return self.heartbeat or self.started or 0.0


def read_run_file(directory: str | os.PathLike[str], *, trusted: bool = False) -> RunFile:
    """Read run.json in `directory`; raises UnreadableFile.

    `trusted` follows a symbolic link and reads a file of any size: for a run of this process.
    """
    path = os.path.join(directory, layout.RUN_FILE)
    fields = read_json(path, max_bytes=None if trusted else MAX_BYTES, follow_symlinks=trusted)
    if not isinstance(fields, dict):
        raise UnreadableFile("it must hold a JSON object", path=path)
    return RunFile.from_fields(fields)


def find_run_file(directory: str | os.PathLike[str], *, trusted: bool = False) -> RunFile | None:
    """The same, or None if there is no run.json that can be read."""
    try:
        return read_run_file(directory, trusted=trusted)
    except UnreadableFile:
        return None


class RunFileWriter:
    """Keeps run.json up to date. Starts from the fields that are there already, if the run is resumed."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.path = os.path.join(directory, layout.RUN_FILE)
        existing = find_run_file(directory, trusted=True)
        self.fields: dict[str, Any] = dict(existing.fields) if existing else {}
        self._lock = threading.RLock()  # reentrant: a signal handler may finish the run during an update

    @property
    def content(self) -> RunFile:
        """The fields as they are now, checked."""
        return RunFile.from_fields(self.fields)

    def update(self, **fields: Any) -> None:
        """Set fields and write the file. Raises OSError."""
        with self._lock:
            self.fields.update(fields)
            write_json(self.path, _as_json(self.fields), indent=2)


def _as_json(value: Any) -> Any:
    """Anything a config may hold, in JSON's types: objects by their attributes, other types as text."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return encode_number(value)
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_as_json(item) for item in value]
    if hasattr(value, "__dict__") and not isinstance(value, type) and vars(value):
        return {str(key): _as_json(item) for key, item in vars(value).items() if not key.startswith("_")}
    return str(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _fork(value: Any) -> Fork | None:
    match value:
        case {"run": str(run), "step": int(step)} if run and not isinstance(step, bool):
            return Fork(run, step)
    return None


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
