"""Sources of telemetry: their interface, and how they are found."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulseboard.core.errors import PulseboardError
from pulseboard.core.metric import Metric


@dataclass(frozen=True, slots=True)
class Sample:
    """What a source measured at one moment."""

    scalars: dict[str, float] = field(default_factory=dict)  # by tag, in the declared unit
    records: list[dict[str, Any]] = field(default_factory=list)  # of the JSON log, without step and time


class Unavailable(PulseboardError):
    """This machine has nothing for the source to measure. Reported once; other sources continue."""


class Source:
    """Something that can be sampled. All calls come from one thread.

    An exception drops this source, with one message; the others continue.
    """

    id = ""
    metrics: Mapping[str, Metric] = {}

    def __init__(self, run_directory: str) -> None:
        """Open what is needed; raise Unavailable or MissingPackage if it is missing."""

    def sample(self, now_secs: float) -> Sample:
        """Measure now. `now_secs` rises from call to call, for computing rates."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what was opened."""


SourceClass = TypeVar("SourceClass", bound=type[Source])
_registry: dict[str, type[Source]] = {}


def source(*, id: str, metrics: Mapping[str, Metric]) -> Callable[[SourceClass], SourceClass]:
    """Declare a source: its id, and the tags it may log."""

    def declare(cls: SourceClass) -> SourceClass:
        existing = _registry.get(id)
        if existing is not None and existing.__module__ != cls.__module__:
            first, second = (sys.modules[c.__module__].__file__ for c in (existing, cls))
            raise PulseboardError(f"Two telemetry sources are called {id!r}. Rename one of them: {first} and {second}")
        cls.id, cls.metrics = id, metrics
        _registry[id] = cls
        return cls

    return declare


def all_sources() -> list[type[Source]]:
    """Every source: ours, and those of installed packages (entry point `pulseboard.telemetry`)."""
    import importlib
    import importlib.metadata  # slow to import, but this runs in the telemetry thread
    import pkgutil

    from pulseboard.record.telemetry import sources

    for module in pkgutil.iter_modules(sources.__path__):
        importlib.import_module(f"{sources.__name__}.{module.name}")
    for entry_point in importlib.metadata.entry_points(group="pulseboard.telemetry"):
        entry_point.load()
    return [_registry[id] for id in sorted(_registry)]


def all_metrics() -> dict[str, Metric]:
    """Every tag that telemetry may log, with its unit and meaning."""
    return {tag: metric for cls in all_sources() for tag, metric in cls.metrics.items()}
