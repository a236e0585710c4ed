"""The schedule: how the learning rate goes, and where the plan says training ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.fact import Fact, fact


@dataclass(frozen=True, slots=True)
class Schedule:
    """The learning rate in a few numbers."""

    peak: float
    peak_step: int
    last: float
    is_constant: bool
    is_zero: bool  # exactly 0 at every point

    @property
    def left(self) -> float:
        """The last rate as a share of the peak."""
        return self.last / self.peak if self.peak > 0 else 0.0

    def __str__(self) -> str:
        return "constant" if self.is_constant else f"now at {100 * self.left:.0f} % of its peak"


@fact("schedule")
def schedule(case: Case) -> Fact[Schedule]:
    """From the learning-rate curve."""
    rate = case.one("lr")
    values = rate.points(most=1024).values if rate is not None else np.empty(0)
    if rate is None or len(values) < 2:
        return Fact(None, why="no learning rate is logged")
    peak = int(np.argmax(values))
    steps = rate.points(most=1024).steps
    top = float(values[peak])
    return Fact(
        Schedule(
            peak=top,
            peak_step=int(steps[peak]),
            last=float(values[-1]),
            is_constant=bool(values.max() - values.min() <= 1e-6 * max(abs(top), 1e-300)),
            is_zero=bool((values == 0).all()),
        ),
        0.9,
        (rate.tag,),
    )


@fact("planned")
def planned(case: Case) -> Fact[float]:
    """The share of the plan that is done: by the configuration, else unknown."""
    span = case.steps
    if span is None or not case.planned_steps:
        return Fact(None, why="the log does not say how long the training should run")
    return Fact(min(1.0, span[1] / case.planned_steps), 0.8, (), "last step over the planned steps")


def rate_is_high(case: Case, step: int) -> bool | None:
    """Whether the learning rate was above a third of its peak at a step; None if it is not logged."""
    rate = case.one("lr")
    if rate is None or not len(rate.points().values):
        return None
    steps, values = rate.points()
    return bool(values[min(len(values) - 1, int(np.searchsorted(steps, step)))] > 0.3 * values.max())
