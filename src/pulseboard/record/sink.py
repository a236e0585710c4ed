"""Sinks: where a run's records go in addition to the event file. One file per sink in `sinks/`, found by its id."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import Finding, Incident
from pulseboard.core.histogram import Histogram
from pulseboard.record.setting import Setting


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What a sink is given about the run it records."""

    id: str
    directory: str
    config: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    notes: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)  # by name: the general ones and those of sinks
    # For a sink that diagnoses the run: takes all findings and incidents of its latest check.
    report_findings: Callable[[Sequence[Finding], Sequence[Incident]], None] | None = None


class Sink:
    """What a sink can be given. Override what it can use; all calls come from one thread of its own.

    A sink that is as fast as a local file sets `in_call`: it is then called by the training loop itself, one call at a
    time, and a killed process loses none of its records.

    An exception stops this sink, with one message; the other sinks continue.
    """

    id = ""
    settings: Sequence[Setting] = ()
    in_call = False

    def __init__(self, info: RunInfo) -> None:
        """Connect. Import what is needed here, and raise MissingPackage if it is not installed."""

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """The scalars of one `log` call."""

    def record(self, record: dict[str, Any]) -> None:
        """A record of the JSON log: `record["log"]` is step, eval, moe, gpu, allocator, …"""

    def histogram(self, tag: str, histogram: Histogram) -> None:
        """A histogram, with its step and wall time."""

    def text(self, tag: str, text: str, *, step: int, wall_time: float) -> None:
        """A text."""

    def image(self, tag: str, png: bytes, *, step: int, wall_time: float) -> None:
        """An image, encoded as PNG."""

    def config(self, values: Mapping[str, Any]) -> None:
        """The run's configuration or hyperparameters, when they are set or changed."""

    def flush(self) -> None:
        """Pass on what is held back."""

    def close(self, *, status: str) -> None:
        """The run is over: 'finished', 'failed' or 'killed'."""


SinkClass = TypeVar("SinkClass", bound=type[Sink])
_registry: dict[str, type[Sink]] = {}


class UnknownSink(PulseboardError, ValueError):
    """`report_to` names a sink that does not exist."""


def sink(*, id: str, settings: Sequence[Setting] = ()) -> Callable[[SinkClass], SinkClass]:
    """Declare a sink: its id, and the settings that it reads from `RunInfo.settings`."""

    def declare(cls: SinkClass) -> SinkClass:
        existing = _registry.get(id)
        if existing is not None and existing.__module__ != cls.__module__:
            first, second = (sys.modules[c.__module__].__file__ for c in (existing, cls))
            raise PulseboardError(f"Two sinks are called {id!r}. Rename one of them: {first} and {second}")
        cls.id, cls.settings = id, tuple(settings)
        _registry[id] = cls
        return cls

    return declare


def sink_class(id: str) -> type[Sink]:
    """The sink with this id: one of ours, or from an installed package (entry point `pulseboard.sinks`)."""
    if id not in _registry:
        built_in = built_in_sinks()
        if id in built_in:
            importlib.import_module(f"pulseboard.record.sinks.{id}")
        else:
            from importlib.metadata import entry_points  # slow to import, and rarely needed

            for entry_point in entry_points(group="pulseboard.sinks"):
                if entry_point.name == id:
                    entry_point.load()
        if id not in _registry:
            known = ", ".join(sorted({"tensorboard", *_registry, *built_in}))
            raise UnknownSink(f"There is no sink {id!r}. Known: {known}. Check report_to.")
    return _registry[id]


def registered_sinks() -> list[type[Sink]]:
    """The sinks that have been declared in this process so far."""
    return list(_registry.values())


def built_in_sinks() -> list[str]:
    """The ids of the sinks in `sinks/`."""
    names = os.listdir(os.path.join(os.path.dirname(__file__), "sinks"))
    return sorted(name.removesuffix(".py") for name in names if name.endswith(".py") and name != "__init__.py")
