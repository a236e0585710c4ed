"""Loss at ignorance: the loss is that of a guess."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="loss-at-ignorance", reads="train.loss", needs=("choices",))
def loss_at_ignorance(case: Case) -> Iterator[Finding]:
    """The last third of the run no better than ln of the number of choices, and not far above."""
    loss = case.need("train.loss", points=int(case.limit("loss-at-ignorance", "points")))
    guess = case.context.guess_loss
    assert guess is not None
    if case.planned_steps and (case.progress(loss.last_step or 0) or 0) < case.limit("loss-at-ignorance", "progress"):
        return
    steps, values = loss.points(most=512)
    last = values[-max(3, len(values) // 3) :]
    level = float(np.median(last))
    slack = case.limit("loss-at-ignorance", "slack")
    if not (1 - slack) * guess <= level <= (1 + 3 * slack) * guess:
        return
    yield case.finding(
        "loss-at-ignorance",
        "critical",
        loss,
        f"{loss.tag} is {level:.4g} in the last third of the run; a guess among {case.context.choices} has "
        f"{guess:.4g}.",
        evidence=[Evidence(loss.tag, "median of the last third", level, (1 - slack) * guess, int(steps[-1]))],
    )
