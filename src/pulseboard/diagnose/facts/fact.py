"""A fact: a value with its confidence and where it comes from. Unknown is a fact without a value."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from pulseboard.diagnose import facts
from pulseboard.diagnose.case import Case

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Fact(Generic[Value]):
    """One statement about a run."""

    value: Value | None
    confidence: float = 0.0  # 0 to 1
    tags: tuple[str, ...] = ()  # the series it was read from
    why: str = ""

    @property
    def known(self) -> bool:
        """Whether the log says anything about it."""
        return self.value is not None

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON report."""
        value = self.value
        shown: Any = value if value is None or isinstance(value, bool | int | float | str) else str(value)
        if isinstance(value, frozenset | tuple | list):
            shown = [str(item) for item in sorted(value)]
        return {"value": shown, "confidence": round(self.confidence, 2), "from": list(self.tags), "why": self.why}


UNKNOWN: Fact[Any] = Fact(None)

_known: dict[str, Callable[[Case], Fact[Any]]] = {}


def fact(name: str) -> Callable[[Callable[[Case], Fact[Value]]], Callable[[Case], Fact[Value]]]:
    """Declare a function of a case as the fact `name`. It runs at most once per case."""

    def declare(compute: Callable[[Case], Fact[Value]]) -> Callable[[Case], Fact[Value]]:
        @functools.wraps(compute)
        def cached(case: Case) -> Fact[Value]:
            found = case.facts.get(name)
            if found is None:
                with np.errstate(all="ignore"):
                    found = case.facts[name] = compute(case)
            return found

        _known[name] = cached
        return cached

    return declare


@lru_cache(maxsize=1)
def all_facts() -> Mapping[str, Callable[[Case], Fact[Any]]]:
    """Every fact by its name."""
    for module in pkgutil.iter_modules(facts.__path__):
        importlib.import_module(f"{facts.__name__}.{module.name}")
    return dict(sorted(_known.items()))
