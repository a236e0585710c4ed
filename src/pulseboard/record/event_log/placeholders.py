"""Objects that take the place of the event file: if none is wanted, or until it is known where to write.

A placeholder opens the real file when the first record needs it, and passes everything to it from then on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from pulseboard.record.event_log.event_file_writer import EventFileWriter
from pulseboard.record.rank import find_announced_run
from pulseboard.rundir import layout
from pulseboard.tbformat import event

Convert = Callable[[Any], float | None]


class EventTarget(Protocol):
    """Where a run's Events go: an EventFileWriter or a placeholder."""

    @property
    def dropped_records(self) -> int: ...

    def scalars(self, values: dict[str, Any], step: int, wall_time: float, convert: Convert, /) -> Any: ...
    def record(self, payload: bytes, /, step: int | None = None) -> None: ...
    def tick(self) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class NoEventFile:
    """For runs without an event file: `report_to` does not include 'tensorboard'."""

    dropped_records = 0

    def scalars(self, values: dict[str, Any], step: int, wall_time: float, convert: Convert) -> Any:
        """Return the values that are not numbers, as a file would."""
        rest = [(tag, value) for tag, value in values.items() if convert(value) is None]
        return rest or None

    def record(self, payload: bytes, step: int | None = None) -> None: ...
    def tick(self) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class AwaitingFirstStep:
    """For resumed runs: writes the session start as soon as the first step after the resume is known."""

    def __init__(self, file: EventTarget) -> None:
        self.file = file
        self.started = False
        self._lock = threading.Lock()

    @property
    def dropped_records(self) -> int:
        return self.file.dropped_records

    def _start(self, step: int) -> None:
        with self._lock:
            if not self.started:
                self.started = True
                self.file.record(event.session_start_event(step=step, wall_time=time.time()))

    def scalars(self, values: dict[str, Any], step: int, wall_time: float, convert: Convert) -> Any:
        if not self.started:
            self._start(step)
        return self.file.scalars(values, step, wall_time, convert)

    def record(self, payload: bytes, step: int | None = None) -> None:
        if not self.started and step is not None:
            self._start(step)
        self.file.record(payload)

    def tick(self) -> None:
        self.file.tick()

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class ForkedChild:
    """For a forked child: starts a new file when something is logged, and never touches the parent's."""

    def __init__(self, file: EventTarget, start_worker: Callable[[], None]) -> None:
        while isinstance(file, AwaitingFirstStep):
            file = file.file
        self._file = file
        self._start_worker = start_worker
        self._started = False

    @property
    def dropped_records(self) -> int:
        return self._file.dropped_records if self._started else 0

    def _open_file(self) -> EventTarget:
        if not self._started:
            self._started = True
            if isinstance(self._file, EventFileWriter):
                self._file.after_fork()
            self._start_worker()
        return self._file

    def scalars(self, values: dict[str, Any], step: int, wall_time: float, convert: Convert) -> Any:
        return self._open_file().scalars(values, step, wall_time, convert)

    def record(self, payload: bytes, step: int | None = None) -> None:
        self._open_file().record(payload, step)

    def tick(self) -> None:
        if self._started:
            self._file.tick()

    def flush(self) -> None:
        if self._started:
            self._file.flush()

    def close(self) -> None:
        if self._started:
            self._file.close()


class AwaitingRankZero:
    """For ranks other than 0: keeps what is logged until rank 0 has created the run, then writes its own file."""

    MAX_WAITING_CALLS = 10_000
    # Rank 0 may take a while, and looking for its announcement costs more than a call.
    LOOK_SECS = 0.5

    def __init__(
        self, log_directory: Path, rank: int, *, nth_init: int, strict: bool, on_found: Callable[[Path], None]
    ) -> None:
        self._log_directory = log_directory
        self._rank = rank
        self._nth_init = nth_init
        self._strict = strict
        self._on_found = on_found
        self._file: EventTarget | None = None
        self._waiting: list[Callable[[EventTarget], Any]] = []
        self._dropped_calls = 0
        self._next_look_at = 0.0
        self._lock = threading.Lock()

    @property
    def dropped_records(self) -> int:
        return self._dropped_calls + (self._file.dropped_records if self._file else 0)

    def scalars(self, values: dict[str, Any], step: int, wall_time: float, convert: Convert) -> Any:
        if self._file is not None:
            return self._file.scalars(values, step, wall_time, convert)
        numbers = {tag: number for tag, value in values.items() if (number := convert(value)) is not None}
        self._keep(lambda file: file.scalars(numbers, step, wall_time, convert))
        rest = [(tag, value) for tag, value in values.items() if tag not in numbers]
        return rest or None

    def record(self, payload: bytes, step: int | None = None) -> None:
        if self._file is not None:
            self._file.record(payload, step)
        else:
            self._keep(lambda file: file.record(payload, step))

    def _keep(self, call: Callable[[EventTarget], Any]) -> None:
        if len(self._waiting) < self.MAX_WAITING_CALLS:
            self._waiting.append(call)
        else:
            self._dropped_calls += 1
        if time.monotonic() >= self._next_look_at:
            self._look_for_run()

    def _look_for_run(self) -> None:
        with self._lock:
            self._next_look_at = time.monotonic() + self.LOOK_SECS
            if self._file is not None:
                return
            run = find_announced_run(self._log_directory, nth_init=self._nth_init)
            if run is None:
                return
            directory = self._log_directory / run.id
            self._on_found(directory)
            if not self._waiting:
                return  # a rank that logs nothing itself leaves no file
            file: EventTarget = EventFileWriter(
                directory / layout.RANKS_DIRECTORY / str(self._rank), strict=self._strict, wide=True
            )
            if run.resumed:
                file = AwaitingFirstStep(file)
            while self._waiting:
                self._waiting.pop(0)(file)
            self._file = file

    def tick(self) -> None:
        if self._file is None:
            self._look_for_run()
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
