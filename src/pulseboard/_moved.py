"""Modules that have moved: their old import paths keep working, with a DeprecationWarning that names the new one."""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType

_METRICS = (
    "allocator clipping collapse effective_rank ema epoch_loss evaluation hierarchy language_model loss_estimates "
    "losses masking moe performance prediction router speed_of_light stability"
)
# Only modules that the documentation named.
MOVED = {
    "pulseboard.read.log": "pulseboard.read.runs",
    "pulseboard.record.summary_writer": "pulseboard.record.compat.summary_writer",
    "pulseboard.record.training_run_logger": "pulseboard.record.compat.training_run_logger",
    "pulseboard.instruments.declare": "pulseboard.instruments.registry",
    **{f"pulseboard.instruments.{name}": f"pulseboard.instruments.metrics.{name}" for name in _METRICS.split()},
}


class _Finder:
    """Finder and loader in one. Not a subclass of importlib.abc's, which would cost an import at start-up."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None  # an ordinary empty module, replaced below

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        new = MOVED[old]
        warnings.warn(f"{old} has moved to {new}", DeprecationWarning, stacklevel=2)
        # The import system returns whatever sys.modules holds after this call.
        sys.modules[old] = importlib.import_module(new)


def install() -> None:
    """Let the import system find moved modules after everything else."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
