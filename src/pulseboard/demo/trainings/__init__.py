"""The trainings of the demonstration, one a file: `train` does it, and the first lines say what to expect and why."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast


class Training(Protocol):
    """A file of this folder."""

    __doc__: str | None

    def train(self, *, directory: Path, secs: float, seed: int) -> None:
        """Train once, logging below `directory`, in about `secs`."""


def all_names() -> list[str]:
    """What the trainings are called; their runs are called the same."""
    return sorted(found.name for found in pkgutil.iter_modules(__path__))


def training(name: str) -> Training:
    """One of them, by its name."""
    return cast("Training", importlib.import_module(f"{__name__}.{name}"))
