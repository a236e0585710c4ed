"""A kind of small training. A file in `kinds/` with a constant KIND adds one."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from zoo.small import kinds
from zoo.small.record import Record
from zoo.small.settings import Settings


@dataclass(frozen=True)
class Kind:
    """One task with its model."""

    name: str
    train: Callable[[Settings, int], Record]  # settings, seed
    faults: frozenset[str]  # names of faults.py that make sense here
    steps: tuple[int, ...] = (150, 300, 600, 1200)
    optimizers: tuple[str, ...] = ("adam", "adamw", "sgd")
    fixed: Mapping[str, Any] = field(default_factory=dict)  # settings that are not drawn


@lru_cache(maxsize=1)
def all_kinds() -> dict[str, Kind]:
    """Every kind by name."""
    modules = [importlib.import_module(f"{kinds.__name__}.{m.name}") for m in pkgutil.iter_modules(kinds.__path__)]
    found = {module.KIND.name: module.KIND for module in modules}
    assert len(found) == len(modules), "two kinds have the same name"
    return found
