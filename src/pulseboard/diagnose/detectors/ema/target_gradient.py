"""Target gradient: gradients reach the target network, which should get none."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="target-gradient", reads="gradient.target")
def target_gradient(case: Case) -> Iterator[Finding]:
    """Any gradient above rounding error."""
    limit = case.limit("target-gradient", "gradient")
    for track in case.every("gradient.target"):
        if track.high <= limit:
            continue
        steps, values = track.points()
        yield case.finding(
            "target-gradient",
            "critical",
            track,
            f"{track.tag} reached {track.high:.2g}; the target network should get no gradients.",
            first_step=int(steps[int((values > limit).argmax())]),
            evidence=[Evidence(track.tag, "largest gradient", track.high, limit, track.step_of_high(), on_curve=True)],
        )
        return
