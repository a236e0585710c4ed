"""Faults: each is one small function in `faults/` that swaps a part of a real training loop."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zoo import faults


@dataclass(frozen=True)
class Fault:
    """A fault, and what a good diagnosis says of it."""

    name: str
    bases: tuple[str, ...]  # the trainers it makes sense in
    cause: str  # the cause slug that is right; "" for a decoy
    accepted: tuple[str, ...]  # finding slugs that tell of it; any one is a hit. A decoy has none
    onset: str  # "start" or "middle"
    visible: str  # what must be logged to see it: L0 loss and rate, L1 norms and ratios, L2 probes, ranks, router,
    # system; "no": nothing shows it
    equivalent: tuple[str, ...]  # causes that the curves cannot tell from the right one
    inject: Callable[[Any], None]
    ranks: int = 1  # it needs at least so many processes
    after_kill: bool = False  # it breaks a resume: train with the fault "killed" first, then --resume latest with it

    @property
    def decoy(self) -> bool:
        """Whether the training is healthy and only looks strange, so that a warning is a false alarm."""
        return not self.cause


EVERY_BASE = ("gpt", "moe", "classifier", "hjepa", "diffusion")
_known: dict[str, Fault] = {}


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
    """Declare a function of the parts (trainers/parts.py) as the fault `name`."""

    def declare(inject: Callable[[Any], None]) -> Callable[[Any], None]:
        if name in _known:
            raise ValueError(
                f"Two faults are called {name!r}: {inject.__module__} and {_known[name].inject.__module__}"
            )
        _known[name] = Fault(name, bases, cause, accepted, onset, visible, equivalent, inject, ranks, after_kill)
        return inject

    return declare


def decoy(
    name: str, *, bases: tuple[str, ...], onset: str = "start", after_kill: bool = False
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Declare a healthy training that looks strange: a diagnosis should not warn of it."""
    return fault(name, bases=bases, cause="", accepted=(), onset=onset, visible="no", after_kill=after_kill)


def all_faults() -> dict[str, Fault]:
    """Every fault by its name."""
    for module in pkgutil.iter_modules(faults.__path__):
        importlib.import_module(f"{faults.__name__}.{module.name}")
    return dict(sorted(_known.items()))


def find(name: str, *, base: str) -> Fault:
    """The fault of this name, where it makes sense in this trainer."""
    fitting = {fault.name: fault for fault in all_faults().values() if base in fault.bases}
    if name not in fitting:
        raise SystemExit(f"There is no fault {name!r} for {base}. There are: {', '.join(fitting) or 'none'}")
    return fitting[name]


def onset_step(parts: Any) -> int:
    """The step at which a sudden fault begins."""
    return int(parts.args.fault_onset * parts.steps)


def follow_steps(parts: Any) -> Callable[[], int]:
    """What says the step under way, for parts that are not told it."""
    healthy, at = parts.batch, [parts.first_step]

    def batch(step: int) -> Any:
        at[0] = step
        return healthy(step)

    parts.batch = batch
    return lambda: at[0]
