"""Measurements of `pb.watch`: their base class, and the registry of all of them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pulseboard.core.errors import PulseboardError
from pulseboard.core.metric import Metric

if TYPE_CHECKING:
    from pulseboard.instruments.watch.training import Training

# `add_hook(module.register_forward_hook, hook)`. The hook never raises, and is removed when watching ends, or when the
# function that is returned is called.
AddHook = Callable[[Callable[..., Any], Callable[..., None]], Callable[[], None]]


class Measurement:
    """A group of tags that are measured together, at one cadence.

    Override `before_step`, where gradients are final, `after_step`, where parameters are updated, or both. They are
    called only at steps where the measurement is due, without gradient tracing, and return values by tag.
    """

    id: ClassVar[str]
    every: ClassVar[int]  # default number of steps between two measurements
    metrics: ClassVar[Mapping[str, Metric]]  # by tag; {part}, {layer}, {i} and {name} come from the model
    per_rank: ClassVar[bool]  # each rank logs its own values, if there are at least two ranks

    def __init__(self, training: Training) -> None:
        self.training = training

    def install(self, add_hook: AddHook) -> None:
        """Add torch hooks, if this measurement needs its own."""

    def forward_begins(self) -> None:
        """A forward pass in training mode begins; called at every pass."""

    def before_step(self) -> dict[str, Any]:
        """The optimizer is about to step."""
        return {}

    def after_step(self) -> dict[str, Any]:
        """The optimizer has stepped."""
        return {}

    def step_ended(self) -> None:
        """A step is over; called at every step."""


MeasurementClass = TypeVar("MeasurementClass", bound=type[Measurement])
_measurements: dict[str, type[Measurement]] = {}


def measurement(
    *, id: str, metrics: Mapping[str, Metric], every: int = 100, per_rank: bool = False
) -> Callable[[MeasurementClass], MeasurementClass]:
    """Register a measurement under its id, which is also its name in `watch(every=…)`."""

    def register(cls: MeasurementClass) -> MeasurementClass:
        other = _measurements.get(id)
        if other is not None and other.__module__ != cls.__module__:
            first, second = (sys.modules[c.__module__].__file__ for c in (other, cls))
            raise PulseboardError(f"Two measurements have the id {id!r}. Rename one of them: {first} and {second}")
        cls.id, cls.metrics, cls.every, cls.per_rank = id, metrics, every, per_rank
        _measurements[id] = cls
        return cls

    return register


def all_measurements() -> dict[str, type[Measurement]]:
    """Every measurement by id: the files in measurements/."""
    from pulseboard.instruments.watch import measurements

    for module in pkgutil.iter_modules(measurements.__path__):
        importlib.import_module(f"{measurements.__name__}.{module.name}")
    return dict(sorted(_measurements.items()))
