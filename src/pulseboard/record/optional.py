"""Optional packages: loaded when they are asked for, with advice where they are not installed."""

from __future__ import annotations

import importlib
from typing import Any

from pulseboard.core.errors import MissingPackage


def load(module: str, *, what: str, package: str, extra: str) -> Any:
    """The module. MissingPackage says what to install; a package that is there but broken says so itself."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise MissingPackage(what, package=package, extra=extra) from None
