"""The JSON sink: the run's records and scalars in one JSON array, training.json."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from pulseboard.files import json_log
from pulseboard.record import json_file
from pulseboard.record.sink import RunInfo, Sink, sink

_TICK_SECS = 1.0


@sink(id="json")
class JsonSink(Sink):
    """Writes to settings["log_file"], or training.json in the run's directory.

    The numbers of one call are one record of kind 'scalars', or a few where they fill more than a page.
    """

    def __init__(self, info: RunInfo) -> None:
        path = info.settings.get("log_file") or os.path.join(info.directory, json_log.FILE_NAME)
        self._file = json_file.shared(path)
        self._ticked_at = time.monotonic()
        self._step = 0

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """Append them as records of kind 'scalars'."""
        self._step = step
        for line in _lines(values, step=step, wall_time=wall_time):
            self._append(line)

    def record(self, record: dict[str, Any]) -> None:
        """Append it; telemetry comes without time and step, and gets those of now."""
        record = json_log.completed(record, step=self._step, wall_time=time.time())
        self._append(json_log.encode(record))

    def flush(self) -> None:
        """Hand the file to the disk."""
        self._file.flush()

    def close(self, *, status: str) -> None:
        """Leave a tidy file."""
        self._file.close()

    def _append(self, line: str) -> None:
        self._file.append(line)
        now = time.monotonic()
        if now - self._ticked_at >= _TICK_SECS:
            self._ticked_at = now
            self._file.tick()


def _lines(values: dict[str, float], *, step: int, wall_time: float) -> Iterator[str]:
    line = json_log.encode(json_log.scalars_record(values, step=step, wall_time=wall_time))
    if len(line) <= json_file.MOST_LINE_BYTES or len(values) < 2:
        yield line
        return
    items = list(values.items())
    for half in (items[: len(items) // 2], items[len(items) // 2 :]):
        yield from _lines(dict(half), step=step, wall_time=wall_time)
