"""Sources of telemetry: what one promises, and how it is found by its id."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulseboard.core.errors import PulseboardError


@dataclass(frozen=True, slots=True)
class Metric:
    """What one tag of a source is; the documentation lists these."""

    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Sample:
    """What a source saw at one moment."""

    scalars: dict[str, float] = field(default_factory=dict)  # by tag, in the unit that the tag declares
    records: list[dict[str, Any]] = field(default_factory=list)  # typed records of the JSON log, without step and time


class Unavailable(PulseboardError):
    """This machine has nothing for the source to see. Said once; the others go on."""


class Source:
    """Something that can be sampled. All calls come from one thread.

    Whatever is raised drops this source, with one message, and no other.
    """

    id = ""
    metrics: Mapping[str, Metric] = {}

    def __init__(self, run_directory: str) -> None:
        """Look for what is needed; raise Unavailable or MissingPackage where it is not there."""

    def sample(self, now_secs: float) -> Sample:
        """What is to be seen now. `now_secs` rises from call to call; a rate is a difference over it."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what was opened."""


SourceClass = TypeVar("SourceClass", bound=type[Source])
_known: dict[str, type[Source]] = {}


def source(*, id: str, metrics: Mapping[str, Metric]) -> Callable[[SourceClass], SourceClass]:
    """Declare a source under its id, with the tags it may give."""

    def declare(cls: SourceClass) -> SourceClass:
        before = _known.get(id)
        if before is not None and before.__module__ != cls.__module__:
            first, second = (sys.modules[c.__module__].__file__ for c in (before, cls))
            raise PulseboardError(f"Two telemetry sources are called {id!r}. Rename one of them: {first} and {second}")
        cls.id, cls.metrics = id, metrics
        _known[id] = cls
        return cls

    return declare


def all_sources() -> list[type[Source]]:
    """Every source: ours, and those that installed packages offer as `pulseboard.telemetry`."""
    import importlib
    import importlib.metadata  # slow to load, and this runs in the worker
    import pkgutil

    from pulseboard.record.telemetry import sources

    for module in pkgutil.iter_modules(sources.__path__):
        importlib.import_module(f"{sources.__name__}.{module.name}")
    for point in importlib.metadata.entry_points(group="pulseboard.telemetry"):
        point.load()
    return [_known[id] for id in sorted(_known)]


def all_metrics() -> dict[str, Metric]:
    """Every tag that telemetry may log, with its unit and meaning."""
    return {tag: metric for cls in all_sources() for tag, metric in cls.metrics.items()}
