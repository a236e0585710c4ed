"""What a training prints: shown as it comes, kept up to a limit, and read for metrics while it runs."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from pulseboard.read.runs import Runs, read

KEPT_FILE = os.path.join("logs", "output.raw")
"""In the run directory. Readers do not take it for a log, because its metrics are in the event file."""

MAX_KEPT_BYTES = 64 << 20
_CHUNK = 1 << 16


class KeptOutput:
    """The file that the output of a training is kept in. Both of its streams append to it, whole lines at a time."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_KEPT_BYTES) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self._max_bytes = path, max_bytes
        self._stream: IO[bytes] = open(path, "ab", buffering=0)  # noqa: SIM115 - closed by close()
        self._lock = threading.Lock()
        self._size = 0
        self.left_out_bytes = 0
        """What did not fit."""

    def add(self, data: bytes) -> None:
        """Keep some lines. Never raises: a full disk must not stop the training."""
        with self._lock:
            if self._size + len(data) > self._max_bytes:
                self.left_out_bytes += len(data)
                return
            try:
                self._stream.write(data)
                self._size += len(data)
            except (OSError, ValueError):  # a full disk; or the file is closed, and a process was left behind
                self.left_out_bytes += len(data)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def pump(source: IO[bytes], show: IO[bytes], kept: KeptOutput) -> None:
    """Copy a stream until it ends: at once to the terminal, and line by line to the file."""
    rest = b""
    descriptor = source.fileno()
    while data := os.read(descriptor, _CHUNK):
        _show(show, data)
        *lines, rest = (rest + data).split(b"\n")
        if lines:
            kept.add(b"\n".join(lines) + b"\n")
        if len(rest) > _CHUNK:  # a bar that is drawn again and again without a line break
            kept.add(rest)
            rest = b""
    if rest:
        kept.add(rest + b"\n")


def _show(stream: IO[bytes], data: bytes) -> None:
    try:
        stream.write(data)
        stream.flush()
    except (OSError, ValueError):  # the terminal or the pipe is gone: the training continues
        pass


class PrintedMetrics:
    """The metrics in the kept output, as the readers of printed logs find them. `poll` returns what is new."""

    def __init__(self, path: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="pulseboard-run-")
        # Under a name that the readers know.
        os.symlink(path, os.path.join(self._folder.name, "output.log"))
        self._runs: Runs | None = None
        self._taken: dict[str, int] = {}

    def poll(self) -> Iterator[tuple[int, dict[str, float]]]:
        """(step, values) of every row that was printed since the last call."""
        if self._runs is None:
            self._runs = read(self._folder.name)
        else:
            self._runs.poll()
        rows: dict[int, dict[str, float]] = {}
        for run in self._runs.values():
            for tag in run.tags("scalar"):
                series = run.series(tag)
                start = self._taken.get(tag, 0)
                for step, value in zip(series.steps[start:].tolist(), series.values[start:].tolist(), strict=True):
                    rows.setdefault(step, {})[tag] = value
                self._taken[tag] = max(start, len(series))
        yield from sorted(rows.items())

    def close(self) -> None:
        """Remove the temporary folder."""
        self._folder.cleanup()


def reading_metrics(
    metrics: PrintedMetrics, log: Callable[[int, dict[str, float]], None], *, stop: threading.Event, every_secs: float
) -> None:
    """Log new metrics every so often until `stop` is set, and once more then."""
    while True:
        ended = stop.wait(every_secs)
        for step, values in metrics.poll():
            log(step, values)
        if ended:
            return
