"""Training: everything about a watched training that measurements read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulseboard.instruments.watch.parameters import Parameters
from pulseboard.instruments.watch.schedule import Schedule
from pulseboard.instruments.watch.step_clock import StepClock

if TYPE_CHECKING:
    from torch import nn

    from pulseboard.record.active_run import ActiveRun


@dataclass(slots=True)
class Training:
    """One model, its optimizer, and the run that records them."""

    torch: Any  # the module; measurements do not import it, so that their declarations can be listed without it
    model: nn.Module
    optimizer: Any  # None: forward passes only
    scaler: Any  # the GradScaler of mixed precision, or None
    run: ActiveRun
    parameters: Parameters
    schedule: Schedule
    clock: StepClock
    counters: Any  # of this process; None where the system offers none
    watches_dead_units: bool
    next_step: int
    steps_done: int = 0

    @property
    def step(self) -> int:
        """The current step. A loop that resumed at a later one shows it by what it logs."""
        return max(self.next_step, self.run.last_step)
