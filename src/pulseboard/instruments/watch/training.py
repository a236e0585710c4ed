"""Training: everything about a watched training that measurements read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pulseboard.instruments.watch.parameters import Parameters
from pulseboard.instruments.watch.schedule import Schedule
from pulseboard.instruments.watch.shard_exchange import ShardExchange
from pulseboard.instruments.watch.step_clock import StepClock

# From sums and maxima over a whole model, in the order they were given, to values by tag.
Finish = Callable[[Sequence[Any], Sequence[Any]], dict[str, Any]]

if TYPE_CHECKING:
    from torch import nn

    from pulseboard.record.active_run import ActiveRun


@dataclass(slots=True, eq=False)
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
    close: Callable[[], None]  # ends the watch
    steps_done: int = 0
    exchange: ShardExchange | None = None  # of a sharded model
    prefix: str = ""  # of all tags
    may_be_named: bool = False  # the user has not chosen the prefix
    context: dict[str, Any] = field(default_factory=dict)  # for the run's configuration

    @property
    def step(self) -> int:
        """The current step. A loop that resumed at a later one shows it by what it logs."""
        return max(self.next_step, self.run.last_step)

    @property
    def cadence_step(self) -> int:
        """The step that decides what is due. The ranks of a sharded model measure together, whatever each one logs."""
        return self.steps_done if self.exchange is not None else self.step

    def tag(self, tag: str) -> str:
        """The tag with the prefix of this network."""
        return f"{self.prefix}/{tag}" if self.prefix else tag

    def of_whole_model(
        self, id: str, finish: Finish, *, sums: Sequence[Any], maxima: Sequence[Any] = ()
    ) -> dict[str, Any]:
        """What `finish` makes of sums and maxima over the whole model, by tag.

        The arguments are those of the part of the model that this rank holds: 0-d tensors on its device. If other ranks
        hold parts too, nothing is returned here: rank 0 logs the result when it has all of them.
        """
        if self.exchange is None:
            return finish(sums, maxima)
        step = self.step
        self.exchange.add(id, self.steps_done, sums, maxima, lambda *whole: self.log(finish(*whole), step))
        return {}

    def log(self, values: dict[str, Any], step: int, *, per_rank: bool = False) -> None:
        """Log values under the tags of this network."""
        tagged = {self.tag(tag): value for tag, value in values.items()} if self.prefix else values
        self.run.log_measurements(tagged, step, per_rank=per_rank)
