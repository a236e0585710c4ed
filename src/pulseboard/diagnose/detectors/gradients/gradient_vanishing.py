"""Gradient vanishing: the gradient has almost disappeared while the loss is still high."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number


@detector(id="gradient-vanishing", reads=("gradient.norm", "train.loss"))
def gradient_vanishing(case: Case) -> Iterator[Finding]:
    """A norm far below its own early level while the loss is still high."""
    norm, loss = case.need("gradient.norm", points=32), case.need("train.loss", points=16)
    steps, values = norm.points(most=512)
    early = float(np.median(values[: max(8, len(values) // 4)]))
    last = float(np.median(values[-max(5, len(values) // 20) :]))
    limit = case.limit("gradient-vanishing", "share")
    if early <= 0 or last >= limit * early:
        return
    losses = loss.points(most=512).values
    if float(np.median(losses[-5:])) < case.limit("gradient-vanishing", "loss_share") * float(losses[0]):
        return
    first = int(steps[int(np.argmax(values < limit * early))])
    yield case.finding(
        "gradient-vanishing",
        "warning",
        norm,
        f"{norm.tag} has fallen from {number(early)} to {number(last)} since step {first:,}, while {loss.tag} is still "
        f"{number(float(losses[-1]))}.",
        first_step=first,
        evidence=[Evidence(norm.tag, "latest level relative to the early level", last / early, limit, int(steps[-1]))],
    )
