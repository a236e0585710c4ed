"""Loss spike: the loss left its level upwards for a while, and came back."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.detectors.loss_diverged import moving_target
from pulseboard.diagnose.episodes import episodes, stride_steps


@detector(id="loss-spike", reads="train.loss")
def loss_spike(case: Case) -> Iterator[Finding]:
    """One finding for each episode that ended where it began."""
    loss = case.need("train.loss", points=48)
    least = case.limit("loss-spike", "rise")
    moving = moving_target(case)  # then the loss may rise in health
    for episode in episodes(case, loss):
        alarm = episode.alarm
        if episode.returned is not True:
            continue
        share = episode.rise / abs(alarm.level) if alarm.level else float("inf")
        # A few points are soon forgotten, unless they are very high.
        lasted = ((alarm.end_step or alarm.alarm_step) - alarm.first_step) / stride_steps(loss)
        brief = lasted < case.limit("loss-spike", "points") and share < case.limit("loss-spike", "high_rise")
        buried = not brief and episode.clear < case.limit("loss-spike", "clear")
        mild = share < least or brief or buried or episode.explained is not None or moving
        why = f"; {episode.explained.what} just before" if episode.explained else ""
        yield case.finding(
            "loss-spike",
            "info" if mild else "warning",
            loss,
            f"{loss.tag} rose from {alarm.level:.4g} to {alarm.peak:.4g} at step {alarm.peak_step} and came back by "
            f"step {alarm.end_step}{why}.",
            first_step=alarm.first_step,
            last_step=alarm.end_step,
            evidence=[
                Evidence(loss.tag, "peak above the level before, as a share of it", share, least, alarm.peak_step)
            ],
        )
