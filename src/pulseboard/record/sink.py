"""Sinks: where records go besides the event file. One file each in `sinks/`, found by its id."""

from __future__ import annotations

import importlib
import importlib.metadata
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import Finding
from pulseboard.core.values import Histogram
from pulseboard.record.report import say

# A sink that is this far behind gets no more until it catches up; what it misses is counted.
MOST_WAITING_RECORDS = 100_000


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What a sink may know of the run it records."""

    id: str
    directory: str
    config: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    notes: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)  # wandb_project, aim_repo, verbosity, log_file, …
    tell: Callable[[Finding], None] | None = None  # for a sink that finds something wrong with the run


class Sink:
    """What a sink can be given. Override what it can take; all calls come from one thread of its own.

    Whatever is raised stops this sink, with one message, and no other.
    """

    id = ""

    def __init__(self, info: RunInfo) -> None:
        """Connect. Import what is needed here, and raise MissingPackage where it is not installed."""

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """The scalars of one `log` call."""

    def record(self, record: dict[str, Any]) -> None:
        """A record of the JSON log: `record["log"]` is step, eval, moe, gpu, allocator, …"""

    def histogram(self, tag: str, histogram: Histogram) -> None:
        """One histogram; its step and wall time are in it."""

    def text(self, tag: str, text: str, *, step: int, wall_time: float) -> None:
        """One text."""

    def image(self, tag: str, png: bytes, *, step: int, wall_time: float) -> None:
        """One image, encoded as PNG."""

    def config(self, values: Mapping[str, Any]) -> None:
        """The run's configuration or hyperparameters, when they are set or change."""

    def flush(self) -> None:
        """Hand on what is held back."""

    def close(self, *, status: str) -> None:
        """The run is over: 'finished', 'failed' or 'killed'."""


SinkClass = TypeVar("SinkClass", bound=type[Sink])
_known: dict[str, type[Sink]] = {}


class UnknownSink(PulseboardError, ValueError):
    """A sink was asked for that nobody has written."""


def sink(*, id: str) -> Callable[[SinkClass], SinkClass]:
    """Declare a sink under its id."""

    def declare(cls: SinkClass) -> SinkClass:
        before = _known.get(id)
        if before is not None and before.__module__ != cls.__module__:
            first, second = (sys.modules[c.__module__].__file__ for c in (before, cls))
            raise PulseboardError(f"Two sinks are called {id!r}. Rename one of them: {first} and {second}")
        cls.id = id
        _known[id] = cls
        return cls

    return declare


def sink_class(id: str) -> type[Sink]:
    """The sink with this id: ours, or one that an installed package offers as `pulseboard.sinks`."""
    if id not in _known:
        for point in importlib.metadata.entry_points(group="pulseboard.sinks"):
            if point.name == id:
                point.load()
        if id not in _known:
            try:
                importlib.import_module(f"pulseboard.record.sinks.{id}")
            except ModuleNotFoundError as error:
                if error.name != f"pulseboard.record.sinks.{id}":
                    raise
                import pkgutil

                from pulseboard.record import sinks

                known = ", ".join(
                    sorted({"tensorboard", *_known, *(m.name for m in pkgutil.iter_modules(sinks.__path__))})
                )
                raise UnknownSink(f"There is no sink {id!r}. Known: {known}. Check report_to.") from None
    return _known[id]


class SinkRunner:
    """A sink with a thread and a queue of its own: a slow one delays nobody, a failing one stops alone."""

    def __init__(self, id: str, info: RunInfo, *, strict: bool = False) -> None:
        self.id = id
        self.dropped_records = 0
        self.failure: BaseException | None = None
        self._info = info
        self._strict = strict
        self._calls: queue.SimpleQueue[tuple[str, tuple[Any, ...], dict[str, Any]] | None] = queue.SimpleQueue()
        self._sink: Sink | None = None
        self._thread = threading.Thread(target=self._run, name=f"pulseboard-{id}", daemon=True)
        self._thread.start()

    def send(self, call: str, *args: Any, **named: Any) -> None:
        """Have the sink do `call` soon. Returns at once."""
        if self.failure is not None:
            return
        if self._calls.qsize() >= MOST_WAITING_RECORDS:
            self.dropped_records += 1
            return
        self._calls.put((call, args, named))

    def close(self, *, status: str, timeout_secs: float = 60.0) -> None:
        """Let it finish what waits, and close it."""
        self._calls.put(("close", (), {"status": status}))
        self._calls.put(None)
        self._thread.join(timeout_secs)
        if self._thread.is_alive():
            say(f"sink {self.id} did not finish within {timeout_secs:g} s and is left behind.")
        if self.dropped_records:
            say(f"sink {self.id} fell behind and missed {self.dropped_records} records.")
        if self._strict and self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self._sink = sink_class(self.id)(self._info)
        except BaseException as error:
            self._stop(error, doing="start")
        while (item := self._calls.get()) is not None:
            if self.failure is not None or self._sink is None:
                continue
            call, args, named = item
            try:
                getattr(self._sink, call)(*args, **named)
            except BaseException as error:
                self._stop(error, doing=f"step {named['step']}" if "step" in named else call)

    def _stop(self, error: BaseException, *, doing: str) -> None:
        self.failure = error
        what = str(error) or type(error).__name__
        say(f"sink {self.id} stopped at {doing}: {what}. Training goes on; this sink gets no more records.")
