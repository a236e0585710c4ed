"""Loaded by Python at the start of a training that `pulseboard run` started: waits for torch, and for loggers to see.

Python imports the first `sitecustomize` on its path, so the one that would have been imported is run afterwards.
Nothing here may fail or print: the training does not know about it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_OPTIMIZERS = "torch.optim.optimizer"
_KERAS = "keras.src.optimizers.base_optimizer"


class _AfterImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Hands each awaited module over once it has been executed."""

    def __init__(self, names: set[str]) -> None:
        self._awaited = names
        self._loaders: dict[str, Any] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self._awaited:
            return None
        self._awaited.discard(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        self._loaders[name] = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec: Any) -> Any:
        return self._loaders[spec.name].create_module(spec)

    def exec_module(self, module: Any) -> None:
        loader = module.__spec__.loader = module.__loader__ = self._loaders.pop(module.__spec__.name)
        loader.exec_module(module)
        try:
            _take(module)
        except Exception:  # without Pulseboard in this environment, only the output is recorded
            pass


def _take(module: Any) -> None:
    if module.__name__ == _OPTIMIZERS:
        from pulseboard.launch.attach import await_first_step

        await_first_step(module)
    elif module.__name__ == _KERAS:
        from pulseboard.launch.attach import await_keras

        await_keras(module)
    else:
        from pulseboard.launch.seen import see

        see(module)


def _run_the_other_one() -> None:
    """Run the `sitecustomize` that this one hides, if there is one."""
    others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("PULSEBOARD_LAUNCHED_RUN"):
    _seen = os.environ.get("PULSEBOARD_LAUNCHED_SEEN", "")
    sys.meta_path.insert(0, _AfterImport({_OPTIMIZERS, _KERAS, *filter(None, _seen.split(","))}))
_run_the_other_one()
