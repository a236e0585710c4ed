"""The trainings of the demo, one per file. The docstring, shown to users, says what to expect and why."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast


class Training(Protocol):
    """A module of this package."""

    __doc__: str | None

    def train(self, *, directory: Path, secs: float, seed: int) -> None:
        """Train once, logging below `directory`, in about `secs`."""


def all_names() -> list[str]:
    """The names of all trainings, which are also the names of their runs."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def training(name: str) -> Training:
    """The training of this name."""
    return cast("Training", importlib.import_module(f"{__name__}.{name}"))
