"""Loss level shift: the loss went up and stayed there."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.detectors.loss_diverged import moving_target
from pulseboard.diagnose.episodes import episodes


@detector(id="loss-level-shift", reads="train.loss")
def loss_level_shift(case: Case) -> Iterator[Finding]:
    """One finding for each episode that has not ended at the old level."""
    loss = case.need("train.loss", points=48)
    least = case.limit("loss-level-shift", "rise")
    moving = moving_target(case)  # then the loss may rise in health
    for episode in episodes(case, loss):
        alarm = episode.alarm
        if episode.returned is True or episode.slow:
            continue
        share = episode.rise / abs(alarm.level) if alarm.level else float("inf")
        buried = episode.clear < case.limit("loss-level-shift", "clear")
        mild = share < least or buried or episode.explained is not None or moving
        why = f" after {episode.explained.what}" if episode.explained else ""
        still = "has not come back" if episode.returned is None else "stayed there"
        yield case.finding(
            "loss-level-shift",
            "info" if mild else "warning",
            loss,
            f"{loss.tag} rose from {alarm.level:.4g} to {alarm.peak:.4g} from step {alarm.first_step}{why} and "
            f"{still}.",
            first_step=alarm.first_step,
            evidence=[
                Evidence(loss.tag, "height above the level before, as a share of it", share, least, alarm.alarm_step)
            ],
        )
