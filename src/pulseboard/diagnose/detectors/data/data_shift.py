"""Data shift: loss and gradient norm jump together while the learning rate does not change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, window_points
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import Episode, episodes, stride_steps
from pulseboard.diagnose.facts.clock import steps_on_clock
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.phrases import times as multiple
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Floats, Points, Track

# Evaluations before a jump that is small compared with the level, and how far beyond their noise it must be.
_LEAST_BEFORE, _NOISE = 5, 6.0


@detector(id="data-shift", reads=("train.loss", "gradient.norm|val.loss"))
def data_shift(case: Case) -> Iterator[Finding]:
    """A rise of the loss and a jump of the gradient norm that start together, while the learning rate is smooth."""
    loss, norm = case.need("train.loss", points=8), case.one("gradient.norm")
    if norm is None or norm.finite_count < 48 or len(loss) < 48:
        yield from _by_validation(case, loss)
        return
    near = int(window_points(len(loss)) * stride_steps(loss) / 4) + 1
    for episode in episodes(case, loss):
        alarm = episode.alarm
        share = episode.rise / abs(alarm.level) if alarm.level else float("inf")
        if episode.explained is not None or share < case.limit("data-shift", "rise"):
            continue
        if episode.returned is True and not _abrupt(case, episode, loss, share):
            continue
        times = _jump(norm, alarm.first_step)
        if times < case.limit("data-shift", "gradient_times") or _rate_jumps(case, alarm.first_step, near):
            continue
        if any(abs(restart - alarm.first_step) <= near for restart in case.restarts):
            continue
        yield case.finding(
            "data-shift",
            "warning",
            loss,
            f"At step {alarm.first_step:,}, {loss.tag} rises by {percent(share)} and {norm.tag} jumps to "
            f"{multiple(times)} its earlier level, with no jump in the learning rate: the data probably changed.",
            first_step=alarm.first_step,
            evidence=[
                Evidence(loss.tag, "rise relative to the level before", share, None, alarm.first_step),
                Evidence(norm.tag, "norm just after, relative to just before", times, None, alarm.first_step),
            ],
        )
        return
    yield from _by_validation(case, loss)


def _by_validation(case: Case, loss: Track) -> Iterator[Finding]:
    """A validation loss that is worse from one evaluation on, where the training loss jumped."""
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None or may_rise(case):
        return
    for track in case.every("val.loss")[:2]:
        values = track.points().values
        best = int(np.argmin(values)) if len(values) else 0
        later = values[best + 1 :]
        if best < 2 or len(later) < 3:
            continue
        lowest = float(values[best])
        share = (float(np.median(later)) - lowest) / max(abs(lowest), 1e-300)
        # It was better at every evaluation before than at any after, but for the first ones.
        stays = float(later.min()) > lowest + 0.3 * share * abs(lowest)
        if not stays or (share < case.limit("data-shift", "lasting_rise") and not _undone(case, values, best)):
            continue
        clock = steps_on_clock(track, loss)
        first, last = int(clock[best]), int(clock[best + 1])
        if case.explained_by(first, within_steps=last - first, until=last) is not None:
            continue
        if _rate_jumps(case, last, last - first):
            continue
        if _jump_between(curve.points, first, last) < max(5 * found.noise, 0.2 * found.gain):
            continue
        yield case.finding(
            "data-shift",
            "warning",
            loss,
            f"{loss.tag} jumped after step {first:,}, and {track.tag} has been worse since: {number(lowest)} before, "
            f"{number(float(later[-1]))} now. The data probably changed.",
            first_step=first,
            evidence=[Evidence(track.tag, "rise as a share of the best before", share, None, first)],
        )
        return


def _undone(case: Case, values: Floats, best: int) -> bool:
    """Whether every evaluation after the best has lost most of the gain, suddenly and beyond the noise."""
    before, later = values[: best + 1], values[best + 1 :]
    gain, lost = float(before[0] - before[-1]), float(later.min() - before[-1])
    clear = len(before) >= _LEAST_BEFORE and min(gain, lost) > _NOISE * noise_scale(before[1:])
    return clear and lost >= case.limit("data-shift", "lasting_loss") * gain


def _jump_between(points: Points, first: int, last: int) -> float:
    """How far the training loss rose above its level before, between two steps."""
    steps, values = points
    before = values[(steps <= first)][-6:]
    during = values[(steps > first) & (steps <= last)]
    # Training may be logged less often than validation: then its next points count.
    during = during if len(during) else values[steps > first][:2]
    return float(during.max() - np.median(before)) if len(before) and len(during) else 0.0


def _jump(norm: Track, step: int) -> float:
    """The gradient norm just after a step, relative to the points before it."""
    steps, values = norm.points()
    at = int(np.searchsorted(steps, step))
    before, after = values[max(0, at - 24) : at], values[at : at + 8]
    if len(before) < 12 or len(after) < 4:
        return 0.0
    # Compare with a high quantile of the points before, so that a noisy norm does not jump by chance.
    return float(np.median(after)) / max(float(np.quantile(before, 0.9)), 1e-300)


def _abrupt(case: Case, episode: Episode, loss: Track, share: float) -> bool:
    """Whether the loss jumped at once and came back slowly: the model had to adapt."""
    alarm, stride = episode.alarm, stride_steps(loss)
    at_once = alarm.peak_step - alarm.first_step <= 3 * stride
    lasted = (alarm.end_step or alarm.alarm_step) - alarm.first_step >= window_points(len(loss)) * stride / 2
    return at_once and lasted and share >= case.limit("data-shift", "abrupt_rise")


def _rate_jumps(case: Case, step: int, near: int) -> bool:
    """Whether the learning rate changes by more than a tenth of its peak near a step."""
    rate = case.one("lr")
    if rate is None or len(rate) < 3:
        return False
    steps, values = rate.points()
    around = (steps >= step - near) & (steps <= step + near)
    inside = values[around]
    return len(inside) > 1 and float(np.abs(np.diff(inside)).max()) > 0.1 * float(values.max())
