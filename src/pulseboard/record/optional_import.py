"""Optional packages: imported when needed, with advice if they are not installed."""

from __future__ import annotations

import importlib
from typing import Any

from pulseboard.core.errors import MissingPackage


def load(module: str, *, what: str, package: str, extra: str) -> Any:
    """Import a module. Raises MissingPackage if it is not installed; the errors of a broken package pass through."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise MissingPackage(what, package=package, extra=extra) from None
