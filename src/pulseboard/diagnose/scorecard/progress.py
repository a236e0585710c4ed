"""How far a run is, and which of its steps a stage of the document corresponds to."""

from __future__ import annotations

import math

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.profile import Expected


def total_steps(case: Case) -> int | None:
    """The planned steps. Without a plan, the last step of a run that has ended; otherwise None."""
    if case.planned_steps:
        return case.planned_steps
    return case.steps[1] if case.finished and case.steps and case.steps[1] > 0 else None


def progress_of(case: Case) -> float | None:
    """The share of the training that is done."""
    total = total_steps(case)
    return min(1.0, case.steps[1] / total) if total and case.steps else None


def step_of(stage: Expected, case: Case) -> int | None:
    """The step of this run at which the stage is due; None if the plan is unknown."""
    if math.isnan(stage.progress):
        return stage.step
    total = total_steps(case)
    return None if total is None else round(stage.progress * total)


def reached(step: int, case: Case) -> bool:
    """Whether the run got there. The last step counts as the end: steps are counted from 0."""
    return case.steps is not None and step <= case.steps[1] + max(1, 0.01 * step)
