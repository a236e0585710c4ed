"""The sampler: asks every source at an interval, on the thread that calls it, and drops those that fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from pulseboard.core.errors import PulseboardError
from pulseboard.files.json_log import metrics_of
from pulseboard.record.report import say_once
from pulseboard.record.telemetry.source import Sample, Source, all_sources


class Telemetry:
    """Samples GPU, memory and host. Nothing is opened before the first sample.

    A record of the JSON log (a GPU's state, a GPU's model) goes to `record`, without step and time, and
    whoever takes it gives its numbers their names. Without `record` its numbers are logged as scalars.

    A sample takes 0.2 to 2 ms of the calling thread, by the number of the job's threads and workers, and
    waits 40 ms for each GPU; the first one some 50 ms more, for imports. What each source costs stands there.
    """

    def __init__(
        self,
        log: Callable[[dict[str, float]], None],
        record: Callable[[dict[str, Any]], None] | None = None,
        *,
        run_directory: str = ".",
        interval_secs: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        sources: Sequence[type[Source]] | None = None,
    ) -> None:
        self._log = log
        self._record = record
        self._run_directory = run_directory
        self._interval_secs = interval_secs
        self._clock = clock
        self._wanted = sources
        self._sources: list[Source] | None = None
        self._due_secs = clock()

    def tick(self) -> None:
        """Sample, if it is time. Call it about once a second; the first call samples at once."""
        if self._clock() >= self._due_secs:
            self.sample()

    def sample(self) -> None:
        """Ask every source now, and log what they say in one call."""
        now_secs = self._clock()
        self._due_secs = now_secs + self._interval_secs
        samples = self._ask_all(now_secs)
        records = [record for sample in samples for record in sample.records]
        scalars = {tag: value for sample in samples for tag, value in sample.scalars.items()}
        if self._record is None:
            for record in records:
                scalars.update(metrics_of(record, style="tensorboard"))
        if scalars:
            self._log(scalars)
        if self._record is not None:
            for record in records:
                self._record(record)

    def close(self) -> None:
        """Let the sources go. A sample after this opens them again."""
        for source in self._sources or ():
            try:
                source.close()
            except Exception as error:
                say_once(f"telemetry close {source.id}", f"{source.id} telemetry did not close: {error}")
        self._sources = None

    def _ask_all(self, now_secs: float) -> list[Sample]:
        if self._sources is None:
            self._sources = self._open_all()
        samples = []
        for source in list(self._sources):
            try:
                samples.append(source.sample(now_secs))
            except Exception as error:
                self._sources.remove(source)
                _say_dropped(source.id, error)
        return samples

    def _open_all(self) -> list[Source]:
        opened = []
        for cls in all_sources() if self._wanted is None else self._wanted:
            try:
                opened.append(cls(self._run_directory))
            except Exception as error:
                _say_dropped(cls.id, error)
        return opened


def _say_dropped(id: str, error: Exception) -> None:
    # Our own errors are sentences already; a stranger's may be a bare number or nothing at all.
    what = str(error) if isinstance(error, PulseboardError) else f"{type(error).__name__}: {error}"
    say_once(
        f"telemetry {id}", f"No {id} telemetry from here on: {what.rstrip('.')}. Training and other telemetry go on."
    )
