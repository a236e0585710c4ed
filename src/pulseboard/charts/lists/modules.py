"""The module trees that a run saved next to its run.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulseboard.read.run import Run
from pulseboard.rundir.layout import recorded_directory
from pulseboard.rundir.modules_file import has_modules_file, read_modules

if TYPE_CHECKING:
    from pulseboard.core.module_tree import ModuleTree


def has_modules(run: Run) -> bool:
    """Whether the run recorded the modules of a model."""
    return has_modules_file(recorded_directory(run.directory))


def modules_of(run: Run) -> list[ModuleTree]:
    """The module trees, one per model; none if the run recorded none."""
    return read_modules(recorded_directory(run.directory))
