"""Parts of a package without the package's own imports: uvicorn's bring along a command line and two supervisors.

They take a third of the time that a dashboard takes to open. Whoever asks the package for more later gets all of it.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any


def import_lightly(package: str) -> Any:
    """Put a package in place whose own code runs when something is asked of it that is no module of it."""
    if package in sys.modules:
        return sys.modules[package]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    loader = spec.loader
    module = importlib.util.module_from_spec(spec)

    def ask(name: str) -> Any:
        # Python itself asks for such names while it imports modules of the package.
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        del module.__dict__["__getattr__"]
        loader.exec_module(module)
        return getattr(module, name)

    module.__dict__["__getattr__"] = ask
    sys.modules[package] = module
    return module
