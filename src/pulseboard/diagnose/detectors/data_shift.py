"""Data shift: loss and gradients jump together, and the schedule did nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, window_points
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import Episode, episodes, stride_steps
from pulseboard.diagnose.track import Track


@detector(id="data-shift", reads=("train.loss", "gradient.norm"))
def data_shift(case: Case) -> Iterator[Finding]:
    """An episode of the loss and a leap of the gradient norm that begin together, the learning rate being smooth."""
    loss, norm = case.need("train.loss", points=48), case.need("gradient.norm", points=48)
    near = int(window_points(len(loss)) * stride_steps(loss) / 4) + 1
    for episode in episodes(case, loss):
        alarm = episode.alarm
        share = episode.rise / abs(alarm.level) if alarm.level else float("inf")
        if episode.explained is not None or share < case.limit("data-shift", "rise"):
            continue
        if episode.returned is True and not _abrupt(case, episode, loss, share):
            continue
        times = _leap(norm, alarm.first_step)
        if times < case.limit("data-shift", "gradient_times") or _rate_leaps(case, alarm.first_step, near):
            continue
        if any(abs(restart - alarm.first_step) <= near for restart in case.restarts):
            continue
        yield case.finding(
            "data-shift",
            "warning",
            loss,
            f"{loss.tag} and {norm.tag} rise together at step {alarm.first_step} while the learning rate is smooth: "
            "the data changed.",
            first_step=alarm.first_step,
            evidence=[
                Evidence(loss.tag, "rise as a share of the level", share, None, alarm.first_step),
                Evidence(norm.tag, "norm just after over just before", times, None, alarm.first_step),
            ],
        )
        return


def _leap(norm: Track, step: int) -> float:
    """The gradient norm of the points just after a step over that of those before it."""
    steps, values = norm.points()
    at = int(np.searchsorted(steps, step))
    before, after = values[max(0, at - 24) : at], values[at : at + 8]
    if len(before) < 12 or len(after) < 4:
        return 0.0
    # Above all but the highest of the points before, so that a noisy norm does not leap by chance.
    return float(np.median(after)) / max(float(np.quantile(before, 0.9)), 1e-300)


def _abrupt(case: Case, episode: Episode, loss: Track, share: float) -> bool:
    """Whether the loss jumped at once and took its time to come back: learned anew, not shaken off."""
    alarm, stride = episode.alarm, stride_steps(loss)
    at_once = alarm.peak_step - alarm.first_step <= 3 * stride
    lasted = (alarm.end_step or alarm.alarm_step) - alarm.first_step >= window_points(len(loss)) * stride / 2
    return at_once and lasted and share >= case.limit("data-shift", "abrupt_rise")


def _rate_leaps(case: Case, step: int, near: int) -> bool:
    rate = case.one("lr")
    if rate is None or len(rate) < 3:
        return False
    steps, values = rate.points()
    around = (steps >= step - near) & (steps <= step + near)
    inside = values[around]
    return len(inside) > 1 and float(np.abs(np.diff(inside)).max()) > 0.1 * float(values.max())
