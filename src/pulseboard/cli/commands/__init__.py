"""commands: one file per command, in a folder by subject. A file's name is the name of its command.

Its docstring is the help text, `configure` adds arguments, `run` does the work.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
from types import ModuleType


@functools.cache
def module_names() -> dict[str, str]:
    """The module of each command, by the command's name, in alphabetical order."""
    folders = [folder.name for folder in pkgutil.iter_modules(__path__) if folder.ispkg]
    found = {
        module.name: f"{__name__}.{folder}.{module.name}"
        for folder in folders
        for module in pkgutil.iter_modules([os.path.join(__path__[0], folder)])
    }
    return dict(sorted(found.items()))


def command(name: str) -> ModuleType:
    """The module of a command. Importing all of them takes longer than most of them take to run."""
    return importlib.import_module(module_names()[name])
