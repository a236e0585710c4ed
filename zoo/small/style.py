"""A log style. A file in `styles/` with a constant STYLE adds one."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from zoo.small import styles
from zoo.small.record import Record

# What a style may leave out: nobody logs everything.
OPTIONAL = ("lr", "grad_norm", "step_secs", "memory_mb", "d_real", "d_fake", "entropy", "q_mean", "epsilon", "length")
SCALARS = frozenset(OPTIONAL)


@dataclass(frozen=True)
class Style:
    """One way to log."""

    name: str
    write: Callable[[Record, Path, np.random.Generator], None]  # into an empty directory
    hides: frozenset[str] = frozenset()  # metrics that it never logs
    only: frozenset[str] = frozenset()  # kinds it is used for; empty: all
    by_epoch: bool = False


@lru_cache(maxsize=1)
def all_styles() -> dict[str, Style]:
    """Every style by name."""
    modules = [importlib.import_module(f"{styles.__name__}.{m.name}") for m in pkgutil.iter_modules(styles.__path__)]
    found = {module.STYLE.name: module.STYLE for module in modules}
    assert len(found) == len(modules), "two styles have the same name"
    return found


def renamed(values: Mapping[str, float], names: Mapping[str, str], *, prefix: str = "") -> dict[str, float]:
    """Values under a style's names; what has none gets the prefix."""
    return {names.get(key, f"{prefix}{key.removeprefix('val_')}"): value for key, value in values.items()}


def interval_of(record: Record, rng: np.random.Generator) -> int:
    """Steps between logged rows: 10 to 2,000 points."""
    return max(1, int(len(record.train) / rng.choice([15, 40, 150, 2000])))
