"""The registry of instruments: what each one measures, how often by default, and the list of all of them."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from pulseboard.core.errors import PulseboardError
from pulseboard.core.metric import Metric

__all__ = ["Instrument", "Metric", "all_instruments", "instrument"]


@dataclass(frozen=True, slots=True)
class Instrument:
    """The declaration of one instrument."""

    id: str
    every: int  # default number of steps between two measurements
    metrics: Mapping[str, Metric]  # by tag; the caller's values replace {i}, {name} and the like
    measure: Callable[..., Any]  # a function, or a class with callable instances
    file: str


Measure = TypeVar("Measure", bound=Callable[..., Any])
_instruments: dict[str, Instrument] = {}


def instrument(*, id: str, metrics: Mapping[str, Metric], every: int = 1) -> Callable[[Measure], Measure]:
    """Register a function, or a class with callable instances, as the instrument `id`.

    Its declaration becomes its attribute `declared`. Its results are ready for `run.log`: no gradients are traced,
    floating-point warnings are silenced, and NumPy numbers become floats.
    """

    def register(measure: Measure) -> Measure:
        file = inspect.getsourcefile(measure) or "?"
        other = _instruments.get(id)
        if other is not None and (other.file, other.measure.__qualname__) != (file, measure.__qualname__):
            raise PulseboardError(f"Two instruments have the id {id!r}. Rename one of them: {other.file} and {file}")
        wrapped: Any = measure
        if inspect.isclass(measure):
            wrapped.__call__ = _ready_to_log(wrapped.__call__)
        else:
            wrapped = _ready_to_log(measure)
        _instruments[id] = wrapped.declared = Instrument(id, every, metrics, wrapped, file)
        registered: Measure = wrapped
        return registered

    return register


def all_instruments() -> dict[str, Instrument]:
    """Every instrument by id: those in metrics/, and those of entry points in the group `pulseboard.instruments`."""
    from pulseboard.instruments import metrics

    for module in pkgutil.iter_modules(metrics.__path__):
        importlib.import_module(f"{metrics.__name__}.{module.name}")
    for point in importlib.metadata.entry_points(group="pulseboard.instruments"):
        point.load()
    return dict(sorted(_instruments.items()))


def _ready_to_log(measure: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Wrap a measurement: no gradient tracing, no NumPy warnings; tensors stay tensors, NumPy numbers become floats."""

    @functools.wraps(measure)
    def measure_without_gradients(*args: Any, **kwargs: Any) -> dict[str, Any]:
        torch = sys.modules.get("torch")
        with torch.no_grad() if torch is not None else nullcontext(), np.errstate(all="ignore"):
            values = measure(*args, **kwargs)
        return {
            tag: float(value) if isinstance(value, np.generic | np.ndarray) else value for tag, value in values.items()
        }

    return measure_without_gradients
