"""The sampler: samples every source at an interval, on the calling thread, and drops sources that fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from pulseboard.core.errors import PulseboardError
from pulseboard.record.messages import warn_once
from pulseboard.record.telemetry.source import Sample, Source, all_sources
from pulseboard.rundir.json_log_metrics import metrics_of


class Telemetry:
    """Samples GPU, memory and host. Opens nothing before the first sample.

    Records of the JSON log (a GPU's state or model) go to `record`, without step and time. Without `record` their
    numbers are logged as scalars.

    A sample takes 0.2 to 2 ms, depending on the training's number of threads and workers, and waits 40 ms for each
    GPU. The first one takes about 50 ms more, for imports. The cost of each source is given in its file.
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
        self._source_classes = sources
        self._sources: list[Source] | None = None
        self._due_secs = clock()

    def tick(self) -> None:
        """Sample if it is time. Call this about once per second; the first call samples at once."""
        if self._clock() >= self._due_secs:
            self.sample()

    def sample(self) -> None:
        """Sample every source now, and log the scalars in one call."""
        now_secs = self._clock()
        self._due_secs = now_secs + self._interval_secs
        samples = self._sample_all(now_secs)
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
        """Close the sources. A later sample opens them again."""
        for source in self._sources or ():
            try:
                source.close()
            except Exception as error:
                warn_once(f"telemetry close {source.id}", f"{source.id} telemetry could not be closed: {error}")
        self._sources = None

    def _sample_all(self, now_secs: float) -> list[Sample]:
        if self._sources is None:
            self._sources = self._open_all()
        samples = []
        for source in list(self._sources):
            try:
                samples.append(source.sample(now_secs))
            except Exception as error:
                self._sources.remove(source)
                _warn_dropped(source.id, error)
        return samples

    def _open_all(self) -> list[Source]:
        opened = []
        for cls in all_sources() if self._source_classes is None else self._source_classes:
            try:
                opened.append(cls(self._run_directory))
            except Exception as error:
                _warn_dropped(cls.id, error)
        return opened


def _warn_dropped(id: str, error: Exception) -> None:
    # Our own errors are sentences; others may be a bare number or empty.
    reason = str(error) if isinstance(error, PulseboardError) else f"{type(error).__name__}: {error}"
    warn_once(
        f"telemetry {id}",
        f"No {id} telemetry from now on: {reason.rstrip('.')}. Training and other telemetry continue.",
    )
