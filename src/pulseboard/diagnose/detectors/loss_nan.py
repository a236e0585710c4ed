"""Loss NaN: a loss that is not a number, or infinite."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector

LOSSES = ("train.loss", "val.loss", "loss.levels", "gan.loss", "rl.loss")


@detector(id="loss-nan", reads="train.loss|val.loss|loss.levels|gan.loss|rl.loss")
def loss_nan(case: Case) -> Iterator[Finding]:
    """One finding for each kind of loss, about the tag where it came first."""
    for role in LOSSES:
        wrong = [track for track in case.every(role) if track.not_finite]
        if not wrong:
            continue
        track = min(wrong, key=lambda t: (t.not_finite.first_step or 0, t.tag))
        seen = track.not_finite
        count = seen.nan + seen.inf
        # A single bad point that the next one has forgotten is a bad batch; a row of them is the end.
        lost = seen.in_a_row > 0 or seen.longest_row >= case.limit("loss-nan", "in_a_row")
        what = "NaN" if seen.nan >= seen.inf else "infinite"
        end = "and stays so" if seen.in_a_row == count and count > 1 else f"at {count} of {len(track)} points"
        yield case.finding(
            "loss-nan",
            "critical" if lost else "warning",
            track,
            f"{track.tag} is {what} from step {seen.first_step} {end}.",
            first_step=seen.first_step,
            last_step=seen.last_step,
            evidence=[Evidence(track.tag, "points that are no number", count, 0, seen.first_step)],
        )
