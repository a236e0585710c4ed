"""Faults: each is a small function in `faults/` that replaces a part of a real training loop."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zoo import faults


@dataclass(frozen=True)
class Fault:
    """A fault, and the diagnosis that counts as correct."""

    name: str
    bases: tuple[str, ...]  # trainers that it applies to
    cause: str  # slug of the correct cause; "" for a decoy
    accepted: tuple[str, ...]  # slugs of correct findings; one is enough. A decoy has none
    onset: str  # "start" or "middle"
    visible: str  # what must be logged to see it: L0 loss and learning rate, L1 norms and ratios, L2 probes, ranks,
    # router, system; "no": nothing reveals it
    equivalent: tuple[str, ...]  # causes that curves cannot distinguish from the correct one
    inject: Callable[[Any], None]
    ranks: int = 1  # minimum number of processes
    after_kill: bool = False  # breaks a resume: train with the fault "killed" first, then resume with this one

    @property
    def decoy(self) -> bool:
        """Whether the training is healthy and only looks strange; a warning is then a false alarm."""
        return not self.cause


EVERY_BASE = ("gpt", "moe", "classifier", "hjepa", "diffusion")
_faults: dict[str, Fault] = {}


def fault(
    name: str,
    *,
    bases: tuple[str, ...],
    cause: str,
    accepted: tuple[str, ...],
    onset: str = "start",
    visible: str = "L0",
    equivalent: tuple[str, ...] = (),
    ranks: int = 1,
    after_kill: bool = False,
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Register a function of the loop's parts (trainers/loop_parts.py) as the fault `name`."""

    def register(inject: Callable[[Any], None]) -> Callable[[Any], None]:
        if name in _faults:
            raise ValueError(
                f"Two faults have the name {name!r}: {inject.__module__} and {_faults[name].inject.__module__}"
            )
        _faults[name] = Fault(name, bases, cause, accepted, onset, visible, equivalent, inject, ranks, after_kill)
        return inject

    return register


def decoy(
    name: str, *, bases: tuple[str, ...], onset: str = "start", after_kill: bool = False
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Register a healthy training that looks strange: a diagnosis should not warn about it."""
    return fault(name, bases=bases, cause="", accepted=(), onset=onset, visible="no", after_kill=after_kill)


def all_faults() -> dict[str, Fault]:
    """Every fault by name."""
    for module in pkgutil.iter_modules(faults.__path__):
        importlib.import_module(f"{faults.__name__}.{module.name}")
    return dict(sorted(_faults.items()))


def find(name: str, *, base: str) -> Fault:
    """The fault of this name, if it applies to this trainer."""
    fitting = {fault.name: fault for fault in all_faults().values() if base in fault.bases}
    if name not in fitting:
        raise SystemExit(f"There is no fault {name!r} for {base}. Choose from: {', '.join(fitting) or 'none'}")
    return fitting[name]


def onset_step(parts: Any) -> int:
    """The step at which a sudden fault starts."""
    return int(parts.args.fault_onset * parts.steps)


def follow_steps(parts: Any) -> Callable[[], int]:
    """A function that returns the current step, for parts that do not get it as an argument."""
    healthy, current = parts.batch, [parts.first_step]

    def batch(step: int) -> Any:
        current[0] = step
        return healthy(step)

    parts.batch = batch
    return lambda: current[0]
