"""What takes the event file's place: where none is wanted, and until it can be known which.

A stand-in makes way at the first record: the file it then has is used through it from there on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from pulseboard.files import event, layout
from pulseboard.record import rank as ranks
from pulseboard.record.event_file import EventFile

Convert = Callable[[Any], float | None]


class EventTarget(Protocol):
    """Where a run's Events go."""

    @property
    def dropped_records(self) -> int: ...

    def scalars(self, values: dict[str, Any], step: int, wall: float, convert: Convert, /) -> Any: ...
    def record(self, payload: bytes, /, step: int | None = None) -> None: ...
    def tick(self) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class NoFile:
    """No event file is wanted."""

    dropped_records = 0

    def scalars(self, values: dict[str, Any], step: int, wall: float, convert: Convert) -> Any:
        """Gives back what is no number, as a file would."""
        left = [(tag, value) for tag, value in values.items() if convert(value) is None]
        return left or None

    def record(self, payload: bytes, step: int | None = None) -> None: ...
    def tick(self) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class Resuming:
    """Writes the session start as soon as the first step after a resume is known."""

    def __init__(self, file: EventTarget) -> None:
        self._file = file
        self.begun = False
        self._beginning = threading.Lock()

    @property
    def dropped_records(self) -> int:
        return self._file.dropped_records

    def _begin(self, step: int) -> None:
        with self._beginning:
            if not self.begun:
                self.begun = True
                self._file.record(event.session_start_event(step=step, wall_time=time.time()))

    def scalars(self, values: dict[str, Any], step: int, wall: float, convert: Convert) -> Any:
        if not self.begun:
            self._begin(step)
        return self._file.scalars(values, step, wall, convert)

    def record(self, payload: bytes, step: int | None = None) -> None:
        if not self.begun and step is not None:
            self._begin(step)
        self._file.record(payload)

    def tick(self) -> None:
        self._file.tick()

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class Forked:
    """In a forked child: begins a new file when something is logged, and never touches the parent's."""

    def __init__(self, file: EventTarget, start_worker: Callable[[], None]) -> None:
        while isinstance(file, Resuming):
            file = file._file
        self._file = file
        self._start_worker = start_worker
        self._begun = False

    @property
    def dropped_records(self) -> int:
        return self._file.dropped_records if self._begun else 0

    def _ready(self) -> EventTarget:
        if not self._begun:
            self._begun = True
            if isinstance(self._file, EventFile):
                self._file.begin_anew()
            self._start_worker()
        return self._file

    def scalars(self, values: dict[str, Any], step: int, wall: float, convert: Convert) -> Any:
        return self._ready().scalars(values, step, wall, convert)

    def record(self, payload: bytes, step: int | None = None) -> None:
        self._ready().record(payload, step)

    def tick(self) -> None:
        if self._begun:
            self._file.tick()

    def flush(self) -> None:
        if self._begun:
            self._file.flush()

    def close(self) -> None:
        if self._begun:
            self._file.close()


class WaitingRank:
    """A rank other than 0: keeps what it logs until rank 0 has made the run, then writes its own file."""

    # Calls kept while rank 0 has not begun.
    MOST_WAITING = 10_000
    # Rank 0 may be a while; looking for its note at every call would cost more than the call.
    LOOK_SECS = 0.5

    def __init__(self, runs: Path, rank: int, *, nth: int, strict: bool, found: Callable[[Path], None]) -> None:
        self._runs, self._rank, self._nth, self._strict, self._found = runs, rank, nth, strict, found
        self._file: EventFile | None = None
        self._waiting: list[Callable[[EventFile], Any]] = []
        self._missed = 0
        self._look_at = 0.0
        self._looking = threading.Lock()

    @property
    def dropped_records(self) -> int:
        return self._missed + (self._file.dropped_records if self._file else 0)

    def scalars(self, values: dict[str, Any], step: int, wall: float, convert: Convert) -> Any:
        if self._file is not None:
            return self._file.scalars(values, step, wall, convert)
        numbers = {tag: number for tag, value in values.items() if (number := convert(value)) is not None}
        self._keep(lambda file: file.scalars(numbers, step, wall, convert))
        left = [(tag, value) for tag, value in values.items() if tag not in numbers]
        return left or None

    def record(self, payload: bytes, step: int | None = None) -> None:
        if self._file is not None:
            self._file.record(payload)
        else:
            self._keep(lambda file: file.record(payload))

    def _keep(self, call: Callable[[EventFile], Any]) -> None:
        if len(self._waiting) < self.MOST_WAITING:
            self._waiting.append(call)
        else:
            self._missed += 1
        if time.monotonic() >= self._look_at:
            self._look()

    def _look(self) -> None:
        with self._looking:
            self._look_at = time.monotonic() + self.LOOK_SECS
            if self._file is not None or (run_id := ranks.announced(self._runs, nth=self._nth)) is None:
                return
            self._found(self._runs / run_id)
            if not self._waiting:
                return  # a rank that has nothing of its own to say leaves no file
            file = EventFile(self._runs / run_id / layout.RANKS_DIRECTORY / str(self._rank), strict=self._strict)
            while self._waiting:
                self._waiting.pop(0)(file)
            self._file = file

    def tick(self) -> None:
        if self._file is None:
            self._look()
        else:
            self._file.tick()

    def flush(self) -> None:
        self.tick()
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        self.tick()
        if self._file is not None:
            self._file.close()
