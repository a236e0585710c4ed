"""The JSON sink: the run's records and scalars in one JSON array, training.json."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from pulseboard.record.json_array import json_file
from pulseboard.record.json_array.padded_array import MAX_LINE_BYTES
from pulseboard.record.setting import Setting
from pulseboard.record.sink import RunInfo, Sink, sink
from pulseboard.rundir import json_log, layout

SETTINGS = [
    Setting("log_file", "path of the JSON log, which it turns on; otherwise training.json in the run's directory"),
]

_TICK_SECS = 1.0


@sink(id="json", settings=SETTINGS)
class JsonSink(Sink):
    """Appends to the JSON log. The scalars of one call are one record, or a few if they fill more than a page."""

    in_call = True

    def __init__(self, info: RunInfo) -> None:
        path = info.settings.get("log_file") or os.path.join(info.directory, layout.JSON_LOG_FILE)
        self._file = json_file.open_shared(path)
        self._ticked_at = time.monotonic()
        self._step = 0

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """Append them as records of kind 'scalars'."""
        self._step = step
        for line in _scalar_lines(values, step=step, wall_time=wall_time):
            self._append(line)

    def record(self, record: dict[str, Any]) -> None:
        """Append it. A record without time and step, such as telemetry, gets the current ones."""
        record = json_log.completed(record, step=self._step, wall_time=time.time())
        self._append(json_log.encode(record))

    def flush(self) -> None:
        """Write the file to disk."""
        self._file.flush()

    def close(self, *, status: str) -> None:
        """Close the file, which removes the padding inside it."""
        self._file.close()

    def _append(self, line: str) -> None:
        self._file.append(line)
        now = time.monotonic()
        if now - self._ticked_at >= _TICK_SECS:
            self._ticked_at = now
            self._file.tick()


def _scalar_lines(values: dict[str, float], *, step: int, wall_time: float) -> Iterator[str]:
    line = json_log.encode(json_log.scalars_record(values, step=step, wall_time=wall_time))
    if len(line) <= MAX_LINE_BYTES or len(values) < 2:
        yield line
        return
    items = list(values.items())
    for half in (items[: len(items) // 2], items[len(items) // 2 :]):
        yield from _scalar_lines(dict(half), step=step, wall_time=wall_time)
