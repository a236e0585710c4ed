"""A run being recorded: `init` begins one, `Run.log` adds to it, `finish` ends it."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pulseboard.core.finding import Finding, Severity
from pulseboard.files import layout
from pulseboard.files.json_log import make_record, metrics_of
from pulseboard.record import endings
from pulseboard.record import rank as ranks
from pulseboard.record.event_file import EventFile
from pulseboard.record.heard import Heard, OnFinding
from pulseboard.record.media import Media
from pulseboard.record.numbers import later, to_number
from pulseboard.record.report import say, say_once
from pulseboard.record.run_directory import (
    RunFile,
    circumstances,
    git_state,
    new_run_directory,
    now,
    run_to_resume,
    write_modules,
)
from pulseboard.record.settings import Settings, load_settings
from pulseboard.record.sink import RunInfo, SinkRunner
from pulseboard.record.stand_in import EventTarget, Forked, NoFile, Resuming, WaitingRank
from pulseboard.record.worker import Worker

if TYPE_CHECKING:
    from pulseboard.core.module_tree import ModuleTree

_HEARTBEAT_SECS = 10.0
_MOST_MODELS = 16  # of a run, of which the modules are kept
_inits = itertools.count()
_current: Run | None = None


def init(
    *,
    dir: str | os.PathLike[str] | None = None,
    run_id: str | None = None,
    run_tag: str | None = None,
    config: Any = None,
    tags: Iterable[str] = (),
    notes: str = "",
    report_to: str | Iterable[str] | None = None,
    resume: str | None = None,
    settings_file: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Run:
    """Begin a run below `dir` ('runs'), or with `resume` go on with one: 'latest', or its id.

    Under torchrun call it in every process: rank 0 writes the run, the others only what is logged
    with `per_rank=True`. Further settings, and where they may stand: record/settings.py.
    """
    global _current
    runs_dir = None if dir is None else os.fspath(dir)
    settings |= {"runs_dir": runs_dir, "run_id": run_id, "run_tag": run_tag, "report_to": report_to}
    chosen, beside = load_settings(settings_file, **settings)
    _current = Run(chosen, config={**beside, **as_config(config)}, tags=tags, notes=notes, resume=resume)
    return _current


def current_run() -> Run | None:
    """The run that `init` began last and that is not finished."""
    return _current if _current is not None and not _current.finished else None


class Run(Media):
    """One run. Its calls are cheap, take any thread, and raise nothing unless it is `strict`."""

    def __init__(
        self,
        settings: Settings,
        *,
        config: Mapping[str, Any] | None = None,
        tags: Iterable[str] = (),
        notes: str = "",
        resume: str | None = None,
        rank: ranks.Rank | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.rank = rank or ranks.current_rank()
        self.strict = settings.strict
        self.finished = False
        self._nth = next(_inits)
        self._runs = Path(settings.runs_dir)
        self._step = 0
        self._ending = threading.RLock()  # a signal may end the run while it is being ended
        self._sinks: list[SinkRunner] = []
        self._heard = Heard()
        self._beat_at = 0.0
        self._modules: list[ModuleTree] = []
        self._hooks: list[Any] = []  # called on every tick of the worker: telemetry, live diagnosis
        self._run_file: RunFile | None = None
        self._directory: Path | None = None
        self._worker = Worker(self._tick)
        self._telemetry: Worker | None = None
        self.events: EventTarget  # where Events go
        if self.rank.is_main:
            self._begin(config or {}, tags, notes, resume)
        else:
            self.events = WaitingRank(self._runs, self.rank.rank, nth=self._nth, strict=self.strict, found=self._found)
        if settings.telemetry_secs and self.rank.local_rank == 0:
            self._start_telemetry(settings.telemetry_secs)
        self._worker.start()
        endings.watch(self)

    # ---- what it is

    @property
    def directory(self) -> Path:
        """The run's directory. On other ranks than 0 it is known once rank 0 has made it."""
        if self._directory is None:
            raise RuntimeError("the run's directory is not known on this rank yet: rank 0 makes it")
        return self._directory

    @property
    def id(self) -> str:
        """The run's id: its directory's name."""
        return self.directory.name

    @property
    def last_step(self) -> int:
        """The step logged last; -1 before the first."""
        return self._step - 1

    @property
    def config(self) -> dict[str, Any]:
        """The configuration that was given; `update_config` adds to it."""
        told = self._run_file.told.get("config") if self._run_file else None
        return told if isinstance(told, dict) else {}

    def update_config(self, **values: Any) -> None:
        """Add to the run's configuration."""
        self._tell(config={**self.config, **values})
        self._send("config", values)

    def tell_modules(self, look: Callable[[], ModuleTree]) -> None:
        """Keep what `look` tells of a model's modules beside run.json, and that of other models told of before."""
        if self._run_file is None:
            return
        try:
            tree = look()
        except Exception as error:
            self.complain(error, doing="telling of the model's modules")
            return
        if tree not in self._modules:  # the same model may be watched anew, for every epoch even
            self._modules = [*self._modules, tree][-_MOST_MODELS:]
            path, trees = self.directory / layout.MODULES_FILE, self._modules
            self._worker.submit(lambda: self._attempt(lambda: write_modules(path, trees), writing=layout.MODULES_FILE))

    @property
    def tags(self) -> list[str]:
        """Words to find the run by."""
        return list(self._run_file.told.get("tags", [])) if self._run_file else []

    @tags.setter
    def tags(self, tags: Iterable[str]) -> None:
        self._tell(tags=list(tags))

    @property
    def notes(self) -> str:
        """What a person wants to remember of the run."""
        return str(self._run_file.told.get("notes", "")) if self._run_file else ""

    @notes.setter
    def notes(self, notes: str) -> None:
        self._tell(notes=notes)

    def __repr__(self) -> str:
        state = "finished" if self.finished else "running"
        where = self._directory or self._runs
        return f"Run({str(where)!r}, rank {self.rank.rank} of {self.rank.world_size}, {state})"

    # ---- logging

    def log(self, values: Mapping[str, Any], step: int | None = None, *, per_rank: bool = False) -> None:
        """Log numbers under their tags. `step` goes on from the last one where it is left out.

        Returns when the record is in the system's hands (on a local disk); values on a device are
        copied without waiting and follow when they have arrived.
        """
        try:
            if step is None:
                step = self._step
            self._step = step + 1
            if per_rank or self.rank.is_main:
                self._log(values, step)
        except Exception as error:
            self.complain(error, doing="log")

    def log_aside(self, values: Mapping[str, Any], step: int, *, per_rank: bool = False) -> None:
        """Log what an instrument measured: as `log`, but the loop's own count of steps is left alone."""
        try:
            if per_rank or self.rank.is_main:
                self._log(values, step)
        except Exception as error:
            self.complain(error, doing="log")

    def _log(self, values: Mapping[str, Any], step: int) -> None:
        wall = time.time()
        left = self.events.scalars(values if type(values) is dict else dict(values), step, wall, to_number)
        if left is not None:
            self._log_left(left, step, wall)
        if self._sinks:
            numbers = {tag: n for tag, value in values.items() if (n := to_number(value)) is not None}
            self._send("scalars", numbers, step=step, wall_time=wall)

    def _log_left(self, left: list[tuple[str, Any]], step: int, wall: float) -> None:
        """What was no plain number: nested mappings, values on a device, and mistakes."""
        nested = {f"{tag}/{name}": v for tag, value in left if isinstance(value, Mapping) for name, v in value.items()}
        if nested:
            self._log(nested, step)
        calls, wrong = later({tag: value for tag, value in left if not isinstance(value, Mapping)})
        for tag in wrong:
            value = dict(left)[tag]
            what = f"{type(value).__name__} of {value.shape}" if hasattr(value, "shape") else type(value).__name__
            message = (
                f"{tag!r} was not logged at step {step}: a {what} is not one number. For many, use run.histogram()."
            )
            if self.strict:
                raise TypeError(message)
            say_once(f"value {tag}", message)
        if calls:
            self._worker.submit(lambda: self._log_arrived(calls, step, wall))

    def _log_arrived(self, calls: dict[str, Any], step: int, wall: float) -> None:
        numbers = {tag: call() for tag, call in calls.items()}
        self.events.scalars(numbers, step, wall, to_number)
        self._send("scalars", numbers, step=step, wall_time=wall)

    # ---- what is wrong with it

    @property
    def findings(self) -> list[Finding]:
        """What live diagnosis has found so far. The first look at it begins the diagnosis."""
        self._diagnose()
        return self._heard.findings()

    def on_finding(self, call: OnFinding) -> None:
        """Have `call` called with each finding as it comes, on another thread than this one."""
        self._diagnose()
        self._heard.on_finding(call)

    def should_stop(self, on: Severity = "critical") -> bool:
        """Whether live diagnosis has found anything as grave as `on`. Costs next to nothing: ask at every step."""
        self._diagnose()
        return self._heard.should_stop(on)

    def _diagnose(self) -> None:
        """Begin live diagnosis, where it has not begun: a sink like any other, which reads what it has missed."""
        if self.rank.is_main and not self.finished and not any(sink.id == "diagnosis" for sink in self._sinks):
            self._sinks.append(self._sink("diagnosis"))

    @property
    def has_sinks(self) -> bool:
        """Whether anything besides the event file is written."""
        return bool(self._sinks)

    def in_background(self, job: Callable[[], None]) -> None:
        """Have the run's worker call `job` soon."""
        self._worker.submit(job)

    def send(self, call: str, *args: Any, **named: Any) -> None:
        """Pass something to the run's other sinks; see record/sink.py."""
        self._send(call, *args, **named)

    def every_tick(self, hook: Any) -> None:
        """Have the worker call `hook` about once a second until the run is finished."""
        self._hooks.append(hook)

    def _send(self, call: str, *args: Any, **named: Any) -> None:
        for sink in self._sinks:
            sink.send(call, *args, **named)

    def complain(self, error: Exception, *, doing: str) -> None:
        """Say what went wrong, or raise it where the run is strict."""
        if self.strict:
            raise error
        say_once(
            f"{doing} {type(error).__name__}", f"{doing} failed: {type(error).__name__}: {error}. Training goes on."
        )

    # ---- life

    def flush(self) -> None:
        """Have everything that was logged on disk."""
        self._worker.drain()
        self.events.flush()

    def finish(self, *, status: str = "finished") -> None:
        """End the run: 'finished', 'failed' or 'killed'. Further calls are ignored."""
        with self._ending:
            if self.finished:
                return
            self.finished = True
        if self._telemetry is not None:
            self._telemetry.submit(self._sampler.close)
            self._telemetry.stop(timeout_secs=5.0)
        self._worker.drain()
        self.end_hparams(status)
        for sink in self._sinks:
            sink.close(status=status)
        self._worker.stop()
        self.events.close()
        dropped = {s.id: s.dropped_records for s in self._sinks if s.dropped_records}
        if self.events.dropped_records:
            dropped["tensorboard"] = self.events.dropped_records
            say(f"{self.events.dropped_records} records were not written: the disk could not take them.")
        self._tell(status=status, ended=now(), heartbeat=now(), **({"dropped_records": dropped} if dropped else {}))
        endings.forget(self)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish(status="finished" if kind is None else "failed")

    def _begin(self, config: Mapping[str, Any], tags: Iterable[str], notes: str, resume: str | None) -> None:
        settings, today = self.settings, datetime.date.today()
        try:
            if resume is not None:
                directory = run_to_resume(self._runs, resume)
            else:
                directory = new_run_directory(self._runs, run_id=settings.run_id, run_tag=settings.run_tag, today=today)
        except OSError as error:
            # The event file will say what is wrong and keep trying; a name is all it needs.
            directory = self._runs / (settings.run_id or f"{today.isoformat()}_{os.getpid()}")
            self.complain(error, doing="making the run's directory")
        self._directory = directory
        if self.rank.world_size > 1:
            self._attempt(lambda: ranks.announce(self._runs, directory.name, nth=self._nth))
        self._run_file = RunFile(directory)
        before = self._run_file.told
        self._tell(
            schema=1,
            id=directory.name,
            status="running",
            started=before.get("started", now()),
            heartbeat=now(),
            world_size=self.rank.world_size,
            config={**(before.get("config") or {}), **config},
            tags=list(dict.fromkeys([*before.get("tags", []), *tags])),
            notes=notes or before.get("notes", ""),
            resumed=[*before.get("resumed", []), now()] if resume is not None else before.get("resumed", []),
            **circumstances(),
        )
        self._worker.submit(lambda: self._tell(git=git_state()))
        wanted = settings.report_to
        file: EventTarget = (
            EventFile(directory / layout.EVENTS_DIRECTORY, strict=self.strict) if "tensorboard" in wanted else NoFile()
        )
        self.events = Resuming(file) if resume is not None else file
        self._sinks = [self._sink(id) for id in wanted if id != "tensorboard"]

    def _sink(self, id: str) -> SinkRunner:
        info = RunInfo(
            self.id,
            str(self.directory),
            self.config,
            tuple(self.tags),
            self.notes,
            dataclasses.asdict(self.settings),
            self._heard.tell,
        )
        return SinkRunner(id, info, strict=self.strict)

    def _found(self, directory: Path) -> None:
        self._directory = directory

    def _start_telemetry(self, every_secs: float) -> None:
        from pulseboard.record.telemetry import Telemetry

        where = str(self._directory or self._runs)
        self._sampler = Telemetry(
            self._log_telemetry, self._record_telemetry, run_directory=where, interval_secs=every_secs
        )
        # A thread of its own: a GPU's driver that hangs shall not keep the log from being written.
        self._telemetry = Worker(self._sampler.tick)
        self._telemetry.submit(self._sampler.tick)

    def _log_telemetry(self, values: dict[str, float]) -> None:
        if isinstance(self.events, Resuming) and not self.events.begun:
            return  # only the training loop knows from which step on it goes
        step, wall = max(0, self._step - 1), time.time()
        self.events.scalars(values, step, wall, to_number)
        self._send("scalars", values, step=step, wall_time=wall)

    def _record_telemetry(self, values: dict[str, Any]) -> None:
        """A GPU's state or model: under its documented names in each place."""
        step, wall = max(0, self._step - 1), time.time()
        record = make_record(values["log"], values, step=step, wall_time=wall)
        numbers = metrics_of(record, style="tensorboard")
        if numbers and not (isinstance(self.events, Resuming) and not self.events.begun):
            self.events.scalars(numbers, step, wall, to_number)
        self._send("record", record)

    def _tick(self) -> None:
        self.events.tick()
        for hook in self._hooks:
            hook()
        if self._run_file is not None and time.monotonic() - self._beat_at >= _HEARTBEAT_SECS:
            self._beat_at = time.monotonic()
            self._tell(heartbeat=now(), step=self._step)

    def _tell(self, **what: Any) -> None:
        if self._run_file is not None:
            file = self._run_file
            self._attempt(lambda: file.tell(**what))

    def _attempt(self, job: Any, *, writing: str = layout.RUN_FILE) -> None:
        try:
            job()
        except OSError as error:
            say_once(f"{writing} {error.errno}", f"Cannot write {writing}: {error.strerror}. Training goes on.")

    def after_fork(self) -> None:
        """A forked child (a data loader's worker) that logs gets a file of its own; most never do."""
        self._sinks, self._hooks, self._run_file, self._telemetry = [], [], None, None
        self._ending = threading.RLock()  # a signal may end the run while it is being ended
        self.events = Forked(self.events, self._worker.start)


def as_config(config: Any) -> dict[str, Any]:
    """A configuration as a mapping: mappings, argparse namespaces, dataclasses and other plain objects."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    if hasattr(config, "__dataclass_fields__"):
        return {name: getattr(config, name) for name in config.__dataclass_fields__}
    return {name: value for name, value in vars(config).items() if not name.startswith("_")}
