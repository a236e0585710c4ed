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
from typing import TYPE_CHECKING, Any

from pulseboard.core.finding import Finding, Incident, Severity
from pulseboard.core.plural import plural
from pulseboard.record import lifecycle
from pulseboard.record.environment import describe_git, describe_process
from pulseboard.record.event_log.event_file_writer import EventFileWriter
from pulseboard.record.event_log.placeholders import (
    AwaitingFirstStep,
    AwaitingRankZero,
    EventTarget,
    ForkedChild,
    NoEventFile,
)
from pulseboard.record.live_findings import LiveFindings, OnFinding
from pulseboard.record.media.media_calls import MediaCalls
from pulseboard.record.messages import warn, warn_once
from pulseboard.record.numbers import read_from_devices, to_number
from pulseboard.record.rank import Rank, announce_run, current_rank
from pulseboard.record.run_directory import new_run_directory, run_to_resume
from pulseboard.record.run_telemetry import RunTelemetry
from pulseboard.record.settings import Settings
from pulseboard.record.sink import RunInfo
from pulseboard.record.sink_runner import SinkRunner
from pulseboard.record.worker import Worker
from pulseboard.rundir import layout
from pulseboard.rundir.run_file import SCHEMA, RunFileWriter

if TYPE_CHECKING:
    from pulseboard.core.module_tree import ModuleTree

_HEARTBEAT_SECS = 10.0
_MAX_MODELS = 16  # whose modules are kept
_init_counter = itertools.count()


class ActiveRun(MediaCalls):
    """A run that is being recorded. Its methods are cheap, thread-safe, and raise nothing unless it is `strict`."""

    def __init__(
        self,
        settings: Settings,
        *,
        config: Mapping[str, Any] | None = None,
        tags: Iterable[str] = (),
        notes: str = "",
        resume: str | None = None,
        rank: Rank | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.rank = rank or current_rank()
        self.strict = settings.strict
        self.finished = False
        self._nth_init = next(_init_counter)
        self._log_directory = Path(settings.runs_dir)
        self._step = 0
        self._finish_lock = threading.RLock()  # reentrant: a signal may finish the run while it is being finished
        self._sinks: list[SinkRunner] = []
        self._live_findings = LiveFindings()
        self._heartbeat_at = 0.0
        self._modules: list[ModuleTree] = []
        self._run_file: RunFileWriter | None = None
        self._directory: Path | None = None
        self._worker = Worker(self._tick)
        self._telemetry: RunTelemetry | None = None
        self.events: EventTarget
        if self.rank.is_main:
            self._start(config or {}, tags, notes, resume)
        else:
            self.events = AwaitingRankZero(
                self._log_directory,
                self.rank.rank,
                nth_init=self._nth_init,
                strict=self.strict,
                on_found=self._set_directory,
            )
        if settings.telemetry_secs and self.rank.local_rank == 0:
            directory = str(self._directory or self._log_directory)
            self._telemetry = RunTelemetry(self, directory=directory, interval_secs=settings.telemetry_secs)
            self._telemetry.start()
        self._worker.start()
        lifecycle.register(self)

    # ---- identity and metadata

    @property
    def directory(self) -> Path:
        """The run's directory. Ranks other than 0 know it only after rank 0 has created it."""
        if self._directory is None:
            raise RuntimeError("The run's directory is not known on this rank yet: rank 0 has not created it.")
        return self._directory

    @property
    def id(self) -> str:
        """The run's id, which is the name of its directory."""
        return self.directory.name

    @property
    def last_step(self) -> int:
        """The last step that was logged; -1 before the first."""
        return self._step - 1

    @property
    def config(self) -> dict[str, Any]:
        """The run's configuration; `update_config` adds to it."""
        config = self._run_file.fields.get("config") if self._run_file else None
        return config if isinstance(config, dict) else {}

    def update_config(self, **values: Any) -> None:
        """Add values to the run's configuration."""
        self._update_run_file(config={**self.config, **values})
        self.send("config", values)

    def save_modules(self, describe: Callable[[], ModuleTree]) -> None:
        """Add the model that `describe` returns to the run's module_tree.json."""
        if self._run_file is None:
            return
        try:
            tree = describe()
        except Exception as error:
            self.handle_error(error, action="saving the model's modules")
            return
        if tree not in self._modules:  # the same model may be watched again, even in every epoch
            self._modules = [*self._modules, tree][-_MAX_MODELS:]
            self._worker.submit(lambda: self._write(self._write_modules, name=layout.MODULES_FILE))

    def _write_modules(self) -> None:
        # Imported here: only runs with a model need it.
        from pulseboard.rundir.modules_file import write_modules

        write_modules(self.directory, self._modules)

    @property
    def tags(self) -> list[str]:
        """Words to find the run by."""
        return list(self._run_file.fields.get("tags", [])) if self._run_file else []

    @tags.setter
    def tags(self, tags: Iterable[str]) -> None:
        self._update_run_file(tags=list(tags))

    @property
    def notes(self) -> str:
        """What the user wants to remember about the run."""
        return str(self._run_file.fields.get("notes", "")) if self._run_file else ""

    @notes.setter
    def notes(self, notes: str) -> None:
        self._update_run_file(notes=notes)

    def __repr__(self) -> str:
        state = "finished" if self.finished else "running"
        path = str(self._directory or self._log_directory)
        return f"ActiveRun({path!r}, rank {self.rank.rank} of {self.rank.world_size}, {state})"

    # ---- logging

    def log(self, values: Mapping[str, Any], step: int | None = None, *, per_rank: bool = False) -> None:
        """Log numbers under their tags. Without `step` they get the step after the last one.

        On a local disk the record has been handed to the operating system when this returns. Values on a device
        are copied without waiting, and written when they arrive.
        """
        try:
            if step is None:
                step = self._step
            self._step = step + 1
            if per_rank or self.rank.is_main:
                self._log(values, step)
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
        rest = self.events.scalars(values if type(values) is dict else dict(values), step, wall_time, to_number)
        if rest is not None:
            self._log_rest(rest, step, wall_time)
        if self._sinks:
            numbers = {tag: n for tag, value in values.items() if (n := to_number(value)) is not None}
            self.send("scalars", numbers, step=step, wall_time=wall_time)

    def _log_rest(self, rest: list[tuple[str, Any]], step: int, wall_time: float) -> None:
        """Handle values that are not plain numbers: nested mappings, values on a device, and mistakes."""
        nested = {f"{tag}/{name}": v for tag, value in rest if isinstance(value, Mapping) for name, v in value.items()}
        if nested:
            self._log(nested, step)
        pending, invalid = read_from_devices({tag: v for tag, v in rest if not isinstance(v, Mapping)})
        for tag in invalid:
            value = dict(rest)[tag]
            kind = f"{type(value).__name__} of {value.shape}" if hasattr(value, "shape") else type(value).__name__
            message = (
                f"{tag!r} was not logged at step {step}: a {kind} is not a single number. "
                "For many numbers, use run.histogram()."
            )
            if self.strict:
                raise TypeError(message)
            warn_once(f"value {tag}", message)
        if pending:
            self._worker.submit(lambda: self._log_pending(pending, step, wall_time))

    def _log_pending(self, pending: dict[str, Callable[[], float]], step: int, wall_time: float) -> None:
        numbers = {tag: read() for tag, read in pending.items()}
        self.events.scalars(numbers, step, wall_time, to_number)
        self.send("scalars", numbers, step=step, wall_time=wall_time)

    # ---- live diagnosis

    @property
    def findings(self) -> list[Finding]:
        """The findings of live diagnosis, as of its latest check. Reading this for the first time starts it."""
        self._start_diagnosis()
        return self._live_findings.findings()

    @property
    def incidents(self) -> list[Incident]:
        """The incidents of live diagnosis: findings that belong to one problem, under one headline."""
        self._start_diagnosis()
        return self._live_findings.incidents()

    def on_finding(self, callback: OnFinding) -> None:
        """Call `callback` with each new finding, and again if it becomes more severe, on another thread."""
        self._start_diagnosis()
        self._live_findings.on_finding(callback)

    def should_stop(self, on: Severity = "critical") -> bool:
        """Whether live diagnosis has a finding of severity `on` or above. Cheap enough to call at every step."""
        self._start_diagnosis()
        return self._live_findings.should_stop(on)

    def _start_diagnosis(self) -> None:
        """Start live diagnosis if it is not running. It is a sink, and reads what was logged before it started."""
        if self.rank.is_main and not self.finished and not any(sink.id == "diagnosis" for sink in self._sinks):
            self._sinks.append(self._start_sink("diagnosis"))

    # ---- sinks, background work and errors

    @property
    def has_sinks(self) -> bool:
        """Whether anything other than the event file is written."""
        return bool(self._sinks)

    def in_background(self, job: Callable[[], None]) -> None:
        """Run `job` soon, on the run's worker thread."""
        self._worker.submit(job)

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

    def _start(self, config: Mapping[str, Any], tags: Iterable[str], notes: str, resume: str | None) -> None:
        directory = self._directory = self._open_directory(resume)
        if self.rank.world_size > 1:
            self._write(lambda: announce_run(self._log_directory, directory.name, nth_init=self._nth_init))
        self._run_file = RunFileWriter(directory)
        earlier = self._run_file.content  # of the run that is resumed; otherwise empty
        self._update_run_file(
            schema=SCHEMA,
            id=directory.name,
            status="running",
            started=_now() if earlier.started is None else earlier.started,
            heartbeat=_now(),
            world_size=self.rank.world_size,
            config={**earlier.config, **config},
            tags=list(dict.fromkeys([*earlier.tags, *tags])),
            notes=notes or earlier.notes,
            resumed=[*earlier.resumed, *([_now()] if resume is not None else [])],
            **describe_process(),
        )
        self._worker.submit(lambda: self._update_run_file(git=describe_git()))
        self.events = self._open_events(directory, resumed=resume is not None)
        self._sinks = [self._start_sink(id) for id in self.settings.active_sinks() if id != "tensorboard"]

    def _open_directory(self, resume: str | None) -> Path:
        settings, today = self.settings, datetime.date.today()
        try:
            if resume is not None:
                return run_to_resume(self._log_directory, resume)
            return new_run_directory(self._log_directory, run_id=settings.run_id, run_tag=settings.run_tag, today=today)
        except OSError as error:
            self.handle_error(error, action="creating the run's directory")
            # The event file keeps trying to create it, and reports what is wrong.
            return self._log_directory / (settings.run_id or f"{today.isoformat()}_{os.getpid()}")

    def _open_events(self, directory: Path, *, resumed: bool) -> EventTarget:
        if "tensorboard" not in self.settings.active_sinks():
            file: EventTarget = NoEventFile()
        else:
            file = EventFileWriter(directory / layout.EVENTS_DIRECTORY, strict=self.strict)
        return AwaitingFirstStep(file) if resumed else file

    def _start_sink(self, id: str) -> SinkRunner:
        info = RunInfo(
            id=self.id,
            directory=str(self.directory),
            config=self.config,
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
        self.end_hparams(status)
        for sink in self._sinks:
            sink.close(status=status)
        self._worker.stop()
        self.events.close()
        dropped = {s.id: s.dropped_records for s in self._sinks if s.dropped_records}
        if self.events.dropped_records:
            dropped["tensorboard"] = self.events.dropped_records
            warn(f"{plural(self.events.dropped_records, 'record')} not written: the disk could not take them.")
        more = {"dropped_records": dropped} if dropped else {}
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
        if self._run_file is not None and time.monotonic() - self._heartbeat_at >= _HEARTBEAT_SECS:
            self._heartbeat_at = time.monotonic()
            self._update_run_file(heartbeat=_now(), step=self._step)

    def _update_run_file(self, **fields: Any) -> None:
        if (run_file := self._run_file) is not None:
            self._write(lambda: run_file.update(**fields))

    def _write(self, write: Callable[[], Any], *, name: str = layout.RUN_FILE) -> None:
        try:
            write()
        except OSError as error:
            warn_once(f"{name} {error.errno}", f"Cannot write {name}: {error.strerror}. Training continues.")


def _now() -> float:
    """Seconds since 1970, to the millisecond."""
    return round(time.time(), 3)
