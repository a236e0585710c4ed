"""Loss level shift: the loss jumped up and has not come back."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import episodes, points_since
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.phrases import number

SLUG = "loss-level-shift"


@detector(id=SLUG, reads="train.loss")
def loss_level_shift(case: Case) -> Iterator[Finding]:
    """The largest jump that still shows at the end of the run."""
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or curve.track is None or found is None or len(curve.track) < 48:
        raise TooShort("needs 48 points of a training loss")
    loss = curve.track
    shifts = [e for e in episodes(case, loss) if e.returned is not True and not e.slow]
    if not shifts:
        return
    worst = max(shifts, key=lambda episode: episode.rise)
    alarm = worst.alarm
    share = worst.rise / abs(alarm.level) if alarm.level else float("inf")
    # A jump that later training makes up for is a change of data or phase, and cost little.
    left = found.end - alarm.level
    severe = (
        not may_rise(case)
        and worst.explained is None
        and share >= case.limit(SLUG, "rise")
        and worst.clear >= case.limit(SLUG, "clear")
        and left >= case.limit(SLUG, "lost") * max(found.gain, found.noise)
        and left >= case.limit(SLUG, "rise") * abs(alarm.level)
        and points_since(loss, alarm.first_step) >= case.limit(SLUG, "points")
    )
    if not severe and (share < case.limit(SLUG, "rise") or worst.rise < found.noise):
        return
    why = f" after {worst.explained.what}" if worst.explained else ""
    yield case.finding(
        SLUG,
        "warning" if severe else "info",
        loss,
        f"{loss.tag} jumped from {number(alarm.level)} to {number(alarm.peak)} at step {alarm.first_step:,}{why} and "
        "is "
        f"now {number(found.end)}.",
        first_step=alarm.first_step,
        evidence=[
            Evidence(
                loss.tag, "jump as a share of the level before", share, case.limit(SLUG, "rise"), alarm.alarm_step
            ),
            Evidence(
                loss.tag,
                "remaining rise as a share of the gain",
                left / max(found.gain, 1e-300),
                case.limit(SLUG, "lost"),
            ),
        ],
    )
