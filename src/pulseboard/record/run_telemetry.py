"""Telemetry of a run: sampled by its own thread, logged at the run's current step."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pulseboard.record.event_log.placeholders import AwaitingFirstStep
from pulseboard.record.numbers import to_number
from pulseboard.record.worker import Worker
from pulseboard.rundir.json_log import make_record
from pulseboard.rundir.json_log_metrics import metrics_of

if TYPE_CHECKING:
    from pulseboard.record.active_run import ActiveRun

_CLOSE_TIMEOUT_SECS = 5.0


class RunTelemetry:
    """Samples telemetry every `interval_secs`, from `start` to `close`."""

    def __init__(self, run: ActiveRun, *, directory: str, interval_secs: float) -> None:
        from pulseboard.record.telemetry import Telemetry

        self._run = run
        self._sampler = Telemetry(
            self.log_scalars, self.log_record, run_directory=directory, interval_secs=interval_secs
        )
        # Its own thread: a GPU driver that hangs must not keep the log from being written.
        self._worker = Worker(self._sampler.tick)

    def start(self) -> None:
        """Take the first sample now, on the telemetry thread."""
        self._worker.submit(self._sampler.tick)

    def log_scalars(self, values: dict[str, float]) -> None:
        """Log the scalars of one sample."""
        if self._awaits_first_step:
            return
        step, wall_time = self._step, time.time()
        self._run.events.scalars(values, step, wall_time, to_number)
        self._run.send("scalars", values, step=step, wall_time=wall_time)

    def log_record(self, values: dict[str, Any]) -> None:
        """Log the state or model of a GPU: as a record to sinks, and its numbers to the event file."""
        step, wall_time = self._step, time.time()
        record = make_record(values["log"], values, step=step, wall_time=wall_time)
        numbers = metrics_of(record, style="tensorboard")
        if numbers and not self._awaits_first_step:
            self._run.events.scalars(numbers, step, wall_time, to_number)
        self._run.send("record", record)

    @property
    def _step(self) -> int:
        return max(0, self._run.last_step)

    @property
    def _awaits_first_step(self) -> bool:
        """After a resume only the training loop knows at which step it continues."""
        events = self._run.events
        return isinstance(events, AwaitingFirstStep) and not events.started

    def close(self) -> None:
        """Stop sampling."""
        self._worker.submit(self._sampler.close)
        self._worker.stop(timeout_secs=_CLOSE_TIMEOUT_SECS)
