"""An active run: the object that `pulseboard.init` returns, and that a training loop logs to."""

from __future__ import annotations

import datetime
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from pulseboard.core.plural import plural
from pulseboard.record import lifecycle
from pulseboard.record.active.diagnosis import LiveDiagnosis
from pulseboard.record.active.metadata import RunMetadata, as_tags
from pulseboard.record.active.run_config import RunConfig
from pulseboard.record.active.summary import RunSummary
from pulseboard.record.environment import describe_git, describe_process
from pulseboard.record.event_log.event_file_writer import EventFileWriter
from pulseboard.record.event_log.placeholders import (
    AwaitingFirstStep,
    AwaitingRankZero,
    EventTarget,
    ForkedChild,
    NoEventFile,
)
from pulseboard.record.live_findings import LiveFindings
from pulseboard.record.liveness import HEARTBEAT_SECS
from pulseboard.record.media.media_calls import MediaCalls
from pulseboard.record.messages import warn, warn_once
from pulseboard.record.numbers import checked_step, read_from_devices, to_number, why_not_a_number
from pulseboard.record.rank import AnnouncedRun, Rank, announce_run, current_rank
from pulseboard.record.run_directory import RunDirectory, open_run_directory
from pulseboard.record.run_telemetry import RunTelemetry
from pulseboard.record.settings import Settings
from pulseboard.record.sink import RunInfo
from pulseboard.record.sink_runner import SinkRunner
from pulseboard.record.worker import Worker
from pulseboard.rundir import layout
from pulseboard.rundir.json_log_metrics import metrics_of
from pulseboard.rundir.run_file import SCHEMA, RunFileWriter

_init_counter = itertools.count()


class ActiveRun(MediaCalls, RunMetadata, LiveDiagnosis):
    """A run that is being recorded. Its methods are cheap, thread-safe, and raise nothing unless it is `strict`."""

    def __init__(
        self,
        settings: Settings,
        *,
        config: Mapping[str, Any] | None = None,
        tags: str | Iterable[str] = (),
        notes: str = "",
        resume: str | None = None,
        labels: Mapping[str, str | None] | None = None,
        reopen: Path | None = None,
        rank: Rank | None = None,
    ) -> None:
        """Start a run, or continue one.

        `labels` are further fields of run.json: project, name, group and job_type. `reopen` is the directory of a run
        that was finished and is continued; unlike a run that is resumed, it has lost nothing.
        """
        MediaCalls.__init__(self)
        RunMetadata.__init__(self)
        self.settings = settings
        self.rank = rank or current_rank()
        self.strict = settings.strict
        self.finished = False  # or being finished
        self._closed = False  # takes no more records
        self._nth_init = next(_init_counter)
        # Absolute: the training may change its working directory.
        self._log_directory = Path(os.path.abspath(os.path.expanduser(settings.runs_dir)))
        self._step = 0
        self._finish_lock = threading.RLock()  # reentrant: a signal may finish the run while it is being finished
        self._sinks: list[SinkRunner] = []
        self._last_jobs: list[Callable[[], None]] = []  # before the run is finished
        self._live_findings = LiveFindings()
        self._heartbeat_at = 0.0
        self._run_file: RunFileWriter | None = None
        self._directory: Path | None = None
        self._worker = Worker(self._tick)
        self._telemetry: RunTelemetry | None = None
        self.events: EventTarget
        if self.rank.is_main:
            directory = RunDirectory(reopen, False) if reopen is not None else self._open_directory(resume)
            self._start(directory, config or {}, as_tags(tags), notes, labels or {})
        else:
            self._config = RunConfig(config or {}, self._config_changed)
            self.events = AwaitingRankZero(
                self._log_directory,
                self.rank.rank,
                nth_init=self._nth_init,
                strict=self.strict,
                on_found=self._set_directory,
            )
        if settings.telemetry_secs and self.rank.local_rank == 0:
            path = str(self._directory or self._log_directory)
            self._telemetry = RunTelemetry(self, directory=path, interval_secs=settings.telemetry_secs)
            self._telemetry.start()
        self._worker.start()
        lifecycle.register(self)

    @property
    def last_step(self) -> int:
        """The last step that was logged; -1 before the first."""
        return self._step - 1

    def continue_from(self, run_id: str, step: int) -> None:
        """This run continues another one after a step. Steps that `log` counts itself continue from there."""
        self._step = step + 1
        self._update_run_file(fork={"run": run_id, "step": step})

    def records_in(self, directory: Path) -> bool:
        """Whether this is the run in `directory`, and not finished."""
        return self._run_file is not None and self._directory == directory and not self.finished

    def __repr__(self) -> str:
        state = "finished" if self.finished else "running"
        path = str(self._directory or self._log_directory)
        return f"ActiveRun({path!r}, rank {self.rank.rank} of {self.rank.world_size}, {state})"

    # ---- logging

    def log(self, values: Mapping[str, Any], step: int | None = None, *, per_rank: bool = False) -> None:
        """Log numbers under their tags. Without `step` they get the step after the last one.

        On a local disk the record has been handed to the operating system when this returns. Values on a device
        are copied without waiting, and written when they arrive. Images, texts and other media (record/media/values.py)
        may be among the values.
        """
        try:
            if step is None:
                step = self._step
            elif type(step) is not int:
                step = checked_step(step)
            if per_rank or self.rank.is_main:
                self._log(values, step)
            self._step = step + 1
        except Exception as error:
            self.handle_error(error, action="log")

    def log_measurements(self, values: Mapping[str, Any], step: int, *, per_rank: bool = False) -> None:
        """Log what an instrument measured: like `log`, but without changing the training loop's own step count."""
        try:
            if per_rank or self.rank.is_main:
                self._log(values, step)
        except Exception as error:
            self.handle_error(error, action="log")

    def _log(self, values: Mapping[str, Any], step: int) -> None:
        wall_time = time.time()
        if self.closed(step):
            return
        rest = self.events.scalars(values if type(values) is dict else dict(values), step, wall_time, to_number)
        if rest is not None:
            self._log_rest(rest, step, wall_time)
        if self._sinks or self._summary.follows:
            numbers = {str(tag): n for tag, value in values.items() if (n := to_number(value)) is not None}
            self._summary.add(numbers, step)
            self.send("scalars", numbers, step=step, wall_time=wall_time)

    def log_record(self, record: Mapping[str, Any]) -> None:
        """Log a record of the JSON log (rundir/json_log.py): as it is to sinks, and its numbers to the event file."""
        try:
            if not self.rank.is_main or self.closed(int(record.get("step") or 0)):
                return
            step, wall_time = int(record.get("step") or 0), time.time()
            if numbers := metrics_of(record, style="tensorboard"):
                self.events.scalars(numbers, step, wall_time, to_number)
            self.send("record", dict(record))
        except Exception as error:
            self.handle_error(error, action="log_record")

    def closed(self, step: int) -> bool:
        """Whether the run takes no more records, which is reported once."""
        if not self._closed:
            return False
        message = f"The run {self._directory or ''} is finished: what is logged from step {step} on is not recorded."
        if self.strict:
            raise RuntimeError(message)
        warn_once(f"finished {id(self)}", message)
        return True

    def _log_rest(self, rest: list[tuple[Any, Any]], step: int, wall_time: float) -> None:
        """Handle values that are not plain numbers: nested mappings, media, values on a device, and mistakes."""
        nested = {f"{tag}/{name}": v for tag, value in rest if isinstance(value, Mapping) for name, v in value.items()}
        renamed = {str(tag): v for tag, v in rest if not isinstance(tag, str) and not isinstance(v, Mapping)}
        others = {tag: v for tag, v in rest if isinstance(tag, str) and not isinstance(v, Mapping)}
        for tag in renamed:
            warn_once(f"key {tag}", f"The tag {tag} is not a text. It was logged as {tag!r} at step {step}.")
        if nested or renamed:
            self._log({**nested, **renamed}, step)
        media = {tag for tag, value in others.items() if self.log_media(tag, value, step=step)}
        pending, invalid = read_from_devices({tag: v for tag, v in others.items() if tag not in media})
        if pending:
            self._worker.submit(lambda: self._log_pending(pending, step, wall_time))
        for tag in invalid:
            message = f"{tag[:200]!r} was not logged at step {step}: {why_not_a_number(others[tag])}."
            if self.strict:
                raise TypeError(message)
            warn_once(f"value {tag}", message)

    def _log_pending(self, pending: dict[str, Callable[[], float]], step: int, wall_time: float) -> None:
        numbers = {tag: read() for tag, read in pending.items()}
        self.events.scalars(numbers, step, wall_time, to_number)
        self._summary.add(numbers, step)
        self.send("scalars", numbers, step=step, wall_time=wall_time)

    # ---- sinks, background work and errors

    def start_diagnosis(self) -> None:
        """Start live diagnosis if it is not running. It is a sink, and reads what was logged before it started."""
        if self.rank.is_main and not self.finished and not any(sink.id == "diagnosis" for sink in self._sinks):
            self._sinks.append(self._start_sink("diagnosis"))

    @property
    def has_sinks(self) -> bool:
        """Whether anything other than the event file is written."""
        return bool(self._sinks)

    def in_background(self, job: Callable[[], None]) -> None:
        """Run `job` soon, on the run's worker thread."""
        self._worker.submit(job)

    def before_finish(self, job: Callable[[], None]) -> None:
        """Run `job` when the run is being finished, while it can still be logged to."""
        self._last_jobs.append(job)

    def send(self, call: str, *args: Any, **named: Any) -> None:
        """Call a method of every sink (see record/sink.py), each on its own thread."""
        for sink in self._sinks:
            sink.send(call, *args, **named)

    def handle_error(self, error: Exception, *, action: str) -> None:
        """Print the error once, or raise it if the run is strict."""
        if self.strict:
            raise error
        kind = type(error).__name__
        warn_once(f"{action} {kind}", f"{action} failed: {kind}: {error}. Training continues.")

    # ---- start and end

    def _start(
        self,
        opened: RunDirectory,
        config: Mapping[str, Any],
        tags: Iterable[str],
        notes: str,
        labels: Mapping[str, str | None],
    ) -> None:
        directory = self._directory = opened.path
        if self.rank.world_size > 1:
            announced = AnnouncedRun(directory.name, opened.resumed)
            self._write(lambda: announce_run(self._log_directory, announced, nth_init=self._nth_init))
        self._run_file = RunFileWriter(directory)
        earlier = self._run_file.content  # of the run that is resumed; otherwise empty
        self._config = RunConfig({**earlier.config, **config}, self._config_changed)
        self._summary = RunSummary(earlier.fields.get("summary"), self._summary_changed)
        self._update_run_file(
            schema=SCHEMA,
            id=directory.name,
            status="running",
            started=_now() if earlier.started is None else earlier.started,
            heartbeat=_now(),
            world_size=self.rank.world_size,
            config=dict(self._config),
            tags=list(dict.fromkeys([*earlier.tags, *tags])),
            notes=notes or earlier.notes,
            resumed=[*earlier.resumed, *([_now()] if opened.resumed else [])],
            **{label: value for label, value in labels.items() if value is not None},
            **describe_process(),
        )
        self._worker.submit(lambda: self._update_run_file(git=describe_git()))
        self.events = self._open_events(directory, resumed=opened.resumed)
        self._sinks = [self._start_sink(id) for id in self.settings.active_sinks() if id != "tensorboard"]

    def _open_directory(self, resume: str | None) -> RunDirectory:
        settings, today = self.settings, datetime.date.today()
        try:
            opened = open_run_directory(
                self._log_directory,
                run_id=settings.run_id,
                run_tag=settings.run_tag,
                resume=resume,
                process=describe_process(),
                today=today,
            )
        except OSError as error:
            self.handle_error(error, action="creating the run's directory")
            # The event file keeps trying to create it, and reports what is wrong.
            return RunDirectory(self._log_directory / (settings.run_id or f"{today.isoformat()}_{os.getpid()}"), False)
        if opened.resumed:
            lifecycle.finish_in(opened.path)
        return opened

    def _open_events(self, directory: Path, *, resumed: bool) -> EventTarget:
        if "tensorboard" not in self.settings.active_sinks():
            file: EventTarget = NoEventFile()
        else:
            file = EventFileWriter(directory / layout.EVENTS_DIRECTORY, strict=self.strict, wide=True)
        return AwaitingFirstStep(file) if resumed else file

    def _start_sink(self, id: str) -> SinkRunner:
        info = RunInfo(
            id=self.id,
            directory=str(self.directory),
            config=dict(self.config),
            tags=tuple(self.tags),
            notes=self.notes,
            settings=self.settings.by_name(),
            report_findings=self._live_findings.update,
        )
        return SinkRunner(id, info, strict=self.strict)

    def flush(self) -> None:
        """Write everything that was logged to disk."""
        self._worker.drain()
        self.events.flush()

    def finish(self, *, status: str = "finished") -> None:
        """End the run as 'finished', 'failed' or 'killed'. Later calls do nothing."""
        with self._finish_lock:
            if self.finished:
                return
            self.finished = True
        if self._telemetry is not None:
            self._telemetry.close()
        self._worker.drain()
        for job in self._last_jobs:
            job()
        self.end_hparams(status)
        self._worker.drain()
        self._closed = True
        for sink in self._sinks:
            sink.close(status=status)
        self._worker.stop()
        self.events.close()
        dropped = {s.id: s.dropped_records for s in self._sinks if s.dropped_records}
        if self.events.dropped_records:
            dropped["tensorboard"] = self.events.dropped_records
            warn(f"{plural(self.events.dropped_records, 'record')} not written: the disk could not take them.")
        more: dict[str, Any] = {"dropped_records": dropped} if dropped else {}
        if summary := self._summary.as_json():
            more["summary"] = summary
        self._update_run_file(status=status, ended=_now(), heartbeat=_now(), **more)
        lifecycle.unregister(self)

    def __enter__(self) -> ActiveRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish(status="finished" if kind is None else "failed")

    def after_fork(self) -> None:
        """In a forked child, such as a data loader's worker. If it logs, which most never do, it gets its own file."""
        self._sinks, self._run_file, self._telemetry = [], None, None
        self._finish_lock = threading.RLock()  # the parent's may have been held during the fork
        self.events = ForkedChild(self.events, self._worker.start)

    # ---- housekeeping

    def _set_directory(self, directory: Path) -> None:
        self._directory = directory

    def _tick(self) -> None:
        self.events.tick()
        if self._run_file is not None and time.monotonic() - self._heartbeat_at >= HEARTBEAT_SECS:
            self._heartbeat_at = time.monotonic()
            self._update_run_file(heartbeat=_now(), step=self._step)


def _now() -> float:
    """Seconds since 1970, to the millisecond."""
    return round(time.time(), 3)
