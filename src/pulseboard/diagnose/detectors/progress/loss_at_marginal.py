"""Loss at marginal: the model has learned how frequent each answer is, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points


@detector(id="loss-at-marginal", reads="train.loss", needs=("entropy",))
def loss_at_marginal(case: Case) -> Iterator[Finding]:
    """The last part of the run is at the entropy of the labels and no longer falls."""
    loss = case.need("train.loss", points=int(case.limit("loss-at-marginal", "points")))
    entropy = case.context.entropy
    assert entropy is not None
    guess = case.context.guess_loss
    steps, values = loss.points(most=512)
    part = max(8, int(case.limit("loss-at-marginal", "share_of_run") * len(values)))
    last = Points(steps[-part:], values[-part:])
    level = float(np.median(last.values))
    error = 1.25 * noise_scale(last.values) / np.sqrt(part)
    below = entropy * (1 - case.limit("loss-at-marginal", "below")) - 3 * error
    above = entropy * (1 + case.limit("loss-at-marginal", "above")) + 3 * error
    if not below <= level <= above:
        return
    # If all answers are equally frequent, this is random guessing, which has its own finding.
    if guess is not None and abs(guess - entropy) < case.limit("loss-at-marginal", "apart") * guess:
        return
    # A loss that started far above random guessing is still coming down and only passes this level.
    if guess is not None and float(loss.head.values[0]) > 1.5 * guess:
        return
    line = trend(last)
    if line is not None and line.p_falling < 1e-4 and line.start - line.end > 0.03 * level:
        return
    yield case.finding(
        "loss-at-marginal",
        "critical",
        loss,
        f"{loss.tag} has settled at {number(level)}, the entropy of the labels ({number(entropy)}): the inputs are "
        "ignored.",
        first_step=int(last.steps[0]),
        evidence=[Evidence(loss.tag, "median of the last part", level, below, int(steps[-1]), on_curve=True)],
    )
