"""Declarations: what an instrument measures, how often by default, and the list of all of them."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pulseboard.core.errors import PulseboardError
from pulseboard.instruments.arrays import measuring


@dataclass(frozen=True, slots=True)
class Metric:
    """What one tag is."""

    unit: str  # "1" for a plain number
    meaning: str
    expected: str  # how it behaves in a training that goes well


@dataclass(frozen=True, slots=True)
class Instrument:
    """One declared instrument."""

    id: str
    every: int  # steps between two measurements, unless somebody says otherwise
    metrics: Mapping[str, Metric]  # by tag; {i}, {name} and the like stand for what the caller says
    measure: Callable[..., Any]  # a function, or a class whose objects are called
    file: str


Measure = TypeVar("Measure", bound=Callable[..., Any])
_known: dict[str, Instrument] = {}


def instrument(*, id: str, metrics: Mapping[str, Metric], every: int = 1) -> Callable[[Measure], Measure]:
    """Declare a function, or a class whose objects are called, as the instrument `id`.

    It carries its declaration as `declared`. What it returns is ready for `run.log`: no gradient is traced,
    floating-point warnings are silent, and NumPy's numbers become floats.
    """

    def declare(measure: Measure) -> Measure:
        file = inspect.getsourcefile(measure) or "?"
        before = _known.get(id)
        if before is not None and (before.file, before.measure.__qualname__) != (file, measure.__qualname__):
            raise PulseboardError(f"Two instruments are called {id!r}. Rename one of them: {before.file} and {file}")
        if inspect.isclass(measure):
            made: Any = measure
            made.__call__ = measuring(made.__call__)
        else:
            made = measuring(measure)
        _known[id] = made.declared = Instrument(id, every, metrics, made, file)
        declared: Measure = made
        return declared

    return declare


def all_instruments() -> dict[str, Instrument]:
    """Every instrument by its id: ours, and those that installed packages offer as `pulseboard.instruments`."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules(sys.modules[package].__path__):
        if module.name != "table":  # a program, not an instrument
            importlib.import_module(f"{package}.{module.name}")
    for point in importlib.metadata.entry_points(group="pulseboard.instruments"):
        point.load()
    return dict(sorted(_known.items()))
