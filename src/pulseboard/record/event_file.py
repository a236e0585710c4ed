"""One event file being written: every call is in the system's hands when it returns."""

from __future__ import annotations

import itertools
import os
import socket
import time
from types import TracebackType
from typing import Any

from pulseboard.files import event
from pulseboard.native import kernel

# Files of one process made in the same second differ by this.
_count = itertools.count()


class EventFile:
    """A TensorBoard event file. All scalars of a call go into one Event, in one write."""

    def __init__(self, directory: str | os.PathLike[str], *, resume_step: int | None = None) -> None:
        """Make a new file in `directory`. `resume_step` orphans what earlier files logged from it on."""
        os.makedirs(directory, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}.{next(_count)}"
        self.path = os.path.join(directory, name)
        self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self._writer = kernel.EventWriter(self._fd)
        self._writer.record(event.version_event(wall_time=now))
        if resume_step is not None:
            self._writer.record(event.session_start_event(step=resume_step, wall_time=now))
        self._write()

    def scalars(self, values: dict[str, Any], *, step: int) -> None:
        """Log numbers, or anything that `float()` takes."""
        self._writer.scalars(values, step, time.time(), float)
        self._write()

    def close(self) -> None:
        """Close the file; further calls fail."""
        os.close(self._fd)

    def __enter__(self) -> EventFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self) -> None:
        if error := self._writer.write():
            raise OSError(error, os.strerror(error), self.path)
