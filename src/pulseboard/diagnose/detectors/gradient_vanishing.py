"""Gradient vanishing: the gradient norm has sunk to next to nothing while there is much left to learn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="gradient-vanishing", reads=("gradient.norm", "train.loss"))
def gradient_vanishing(case: Case) -> Iterator[Finding]:
    """Below a small share of its own early level, the loss not being near nothing."""
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
        f"{norm.tag} has sunk from {early:.3g} to {last:.3g} while the loss is still {losses[-1]:.4g}.",
        first_step=first,
        evidence=[Evidence(norm.tag, "last level over the early one", last / early, limit, int(steps[-1]))],
    )
