"""Loss noisy: the loss is noisier than before."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.stats.noise import noise_scale


@detector(id="loss-noisy", reads="train.loss")
def loss_noisy(case: Case) -> Iterator[Finding]:
    """Compares the last third with the middle one; the first contains the initial fall."""
    loss = case.need("train.loss", points=96)
    steps, values = loss.points(most=1024)
    third = len(values) // 3
    before, after = noise_scale(values[third : 2 * third]), noise_scale(values[2 * third :])
    limit = case.limit("loss-noisy", "times")
    if before <= 0 or after < limit * before:
        return
    yield case.finding(
        "loss-noisy",
        "info",
        loss,
        f"The noise of {loss.tag} is {after / before:.1f}x higher in the last third of the run than before.",
        first_step=int(steps[2 * third]),
        evidence=[
            Evidence(loss.tag, "noise relative to the third before", after / before, limit, int(steps[2 * third]))
        ],
    )
