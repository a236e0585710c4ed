"""Evaluation noisy: evaluations are too noisy to separate better from worse."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.stats.noise import noise_scale


@detector(id="eval-noisy", reads="val.loss")
def eval_noisy(case: Case) -> Iterator[Finding]:
    """The noise as a share of the total improvement."""
    track = case.need("val.loss", points=10)
    steps, values = track.points(most=256)
    gain = float(values[0] - values.min())
    if gain <= 0 or len(values) < 10:
        return
    share, limit = noise_scale(values[2:]) / gain, case.limit("eval-noisy", "share_of_gain")
    if share < limit:
        return
    yield case.finding(
        "eval-noisy",
        "info",
        track,
        f"The noise of {track.tag} is {100 * share:.0f} % of its total improvement.",
        first_step=int(steps[0]),
        evidence=[Evidence(track.tag, "noise as a share of the gain", share, limit)],
    )
