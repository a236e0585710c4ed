"""Loss spike: the loss rose above its level for a while and came back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import episodes
from pulseboard.diagnose.facts.objective import Objective, objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.facts.setback import Setback, setback
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.phrases import count, number, percent, times
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.stats.course import Course, centered_median, course
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Floats, Points, Track

SLUG = "loss-spike"
_QUIET = 0.1  # noise as a share of the level
# Times the first loss: each of the points after it, and most of them.
_TWICE, _FAR = 2.0, 4.0
# Means of epochs that say that all is well, and the largest rise of one, of all that was gained.
_EPOCHS, _CALM = 6, 0.1


@dataclass(frozen=True, slots=True)
class _Spike:
    first: int  # indices of points
    last: int
    peak: int
    level: float
    height: float


@detector(id=SLUG, reads="train.loss|loss.components")
def loss_spike(case: Case) -> Iterator[Finding]:
    """One finding for all spikes. Severity depends on the cost: points lost, and how much was unlearned."""
    curve = objective(case).value
    found = course(curve.points) if curve is not None else None
    if curve is None or found is None or found.points < case.limit(SLUG, "least"):
        raise TooShort(f"needs {case.limit(SLUG, 'least'):.0f} points of a training loss")
    steps, values = curve.points
    if not may_rise(case) and (burst := _burst(case, curve.points, found)) is not None:
        yield _burst_finding(case, curve, burst, found)
        return
    if not may_rise(case) and (worse := _worse_than_at_first(case, curve.points, found)) is not None:
        yield _worse_finding(case, curve, worse)
        return
    if (back := setback(case).value) is not None:
        yield _setback_finding(case, curve, back)
        return
    spikes = _spikes(case, curve.points, found)
    # A single point is a bad batch and has its own finding, unless such points keep coming.
    repeated = sum(_counts(case, spike, found) for spike in spikes) >= case.limit(SLUG, "many")
    spikes = [spike for spike in spikes if spike.last > spike.first or (repeated and _counts(case, spike, found))]
    if curve.track is not None:
        spikes = _with_episodes(case, curve.track, curve.points, spikes)
    if not spikes:
        return
    near = max(1, int((steps[-1] - steps[0]) / max(1, len(steps)) * 8))
    high = [s for s in spikes if _counts(case, s, found) and not _explained(case, steps, s, near)]
    lost = sum(spike.last - spike.first + 1 for spike in high)
    share = lost / len(values)
    # Points worse than at the very start: all of it was undone, if only for a moment.
    undone = sum(float(values[s.peak]) > found.start + case.limit(SLUG, "noise") * found.noise for s in high)
    severe = not (may_rise(case) or _epochs_are_calm(case, curve)) and (
        undone >= case.limit(SLUG, "many")
        or _points_undone(case, values, found) >= case.limit(SLUG, "points")
        or _keeps_spiking(case, spikes, values, found)
        or (
            (lost >= case.limit(SLUG, "points") or share >= 2 * case.limit(SLUG, "share"))
            and (
                share >= case.limit(SLUG, "share")
                or len(high) >= case.limit(SLUG, "many")
                or max(spike.height for spike in high) >= max(found.gain, 1e-300)
            )
        )
    )
    worst = max(high or spikes, key=lambda spike: spike.height)
    several = f" It is the highest of {count(len(high or spikes), 'spike')}." if len(high or spikes) > 1 else ""
    yield case.finding(
        SLUG,
        "warning" if severe else "info",
        curve.tag,
        f"{curve} jumped from {number(worst.level)} to {number(float(values[worst.peak]))} at step "
        f"{int(steps[worst.peak])} and came back.{several}",
        first_step=int(steps[(high or spikes)[0].first]),
        last_step=int(steps[(high or spikes)[-1].last]),
        evidence=[
            Evidence(
                curve.tag,
                "height relative to the level before",
                worst.height / max(abs(worst.level), 1e-300),
                case.limit(SLUG, "height"),
                int(steps[worst.peak]),
            ),
            Evidence(
                curve.tag, f"share of the run spent in spikes ({percent(share)})", share, case.limit(SLUG, "share")
            ),
        ],
    )


def _epochs_are_calm(case: Case, curve: Objective) -> bool:
    """Whether the mean of each epoch is logged, too, and falls without a setback: what jumps are single batches."""
    for track in case.every("train.loss"):
        values = track.points(most=256).values
        if track.tag == curve.tag or "epoch" not in words_of(track.tag).every or len(values) < _EPOCHS:
            continue
        rise = float((values - np.minimum.accumulate(values)).max())
        return rise < _CALM * float(values[0] - values.min())
    return False


def _points_undone(case: Case, values: Floats, found: Course) -> int:
    """How many points are above the first loss, after half of the way down was made, and far above the noise."""
    half = np.flatnonzero(values <= found.start - 0.5 * found.gain)
    if not len(half) or found.gain <= case.limit(SLUG, "noise") * found.noise:
        return 0
    return int((values[half[0] :] > found.start).sum())


def _keeps_spiking(case: Case, spikes: list[_Spike], values: Floats, found: Course) -> bool:
    """Whether spikes of several points come back again and again, each by a relevant share of a quiet level."""
    if found.noise > _QUIET * abs(float(np.median(values))):
        return False
    again = [s for s in spikes if s.last > s.first and s.height >= case.limit(SLUG, "again") * abs(s.level)]
    covered = sum(spike.last - spike.first + 1 for spike in again)
    return len(again) > case.limit(SLUG, "many") and covered >= 2 * case.limit(SLUG, "share") * len(values)


def _burst(case: Case, points: Points, found: Course) -> NDArray[np.intp] | None:
    """The points far above both the start and the end, warm-up included; None if there are fewer than two."""
    values = points.values
    usual = max(found.start, found.end, float(np.median(values)))
    if usual <= 0:
        return None
    # The first point is the start itself.
    high = 1 + np.flatnonzero(values[1:] > case.limit(SLUG, "burst") * usual)
    if len(high) < 2:
        return None
    # Losses of single batches may differ tenfold from one to the next.
    wild = noise_scale(np.log(values)) if values.min() > 0 else 0.0
    return high if math.log(float(values.max()) / usual) > case.limit(SLUG, "noise_of_ratios") * wild else None


def _burst_finding(case: Case, curve: Objective, burst: NDArray[np.intp], found: Course) -> Finding:
    steps, values = curve.points
    peak = int(burst[int(np.argmax(values[burst]))])
    height = float(values[peak]) / found.start
    return case.finding(
        SLUG,
        "warning",
        curve.tag,
        f"{curve} started at {number(found.start)}, reached {number(float(values[peak]))} at step {int(steps[peak]):,} "
        f"({times(height)}) and is {number(found.end)} at the end.",
        first_step=int(steps[burst[0]]),
        last_step=int(steps[burst[-1]]),
        evidence=[
            Evidence(curve.tag, "height relative to the start", height, case.limit(SLUG, "burst"), int(steps[peak]))
        ],
    )


def _worse_than_at_first(case: Case, points: Points, found: Course) -> NDArray[np.intp] | None:
    """The points at which the level is above all of the first ones, if they are much of the run.

    Half as much counts if validation is worse than at first, too.
    """
    values = points.values
    first, level = float(values[:3].max()), centered_median(values, max(3, found.width))
    if first <= 0 or found.points < case.limit(SLUG, "least_worse"):
        return None
    if (blown := _blown_up_at_once(case, values, level)) is not None:
        return blown
    limit = case.limit(SLUG, "worse")
    for times_first, needs_validation in ((1 + limit, False), (1 + limit / 2, True)):
        high = np.flatnonzero(level > max(times_first * first, first + 3 * found.noise))
        if len(high) >= case.limit(SLUG, "worse_for") * len(values) and (
            not needs_validation or _validation_was_worse(case, times_first)
        ):
            return high
    return None


def _blown_up_at_once(case: Case, values: Floats, level: Floats) -> NDArray[np.intp] | None:
    """The points far above the very first one, if the next points are all several times as high: the first updates."""
    soon = values[1 : 1 + max(5, len(values) // 10)]
    if values[0] <= 0 or soon.min() <= _TWICE * values[0] or np.median(soon) <= _FAR * values[0]:
        return None
    high = np.flatnonzero(level > (1 + case.limit(SLUG, "worse")) * values[0])
    return high if len(high) >= case.limit(SLUG, "worse_for") * len(values) else None


def _validation_was_worse(case: Case, times_first: float) -> bool:
    curves = validation_curves(case, points=int(case.limit(SLUG, "evaluations")))
    share = case.limit(SLUG, "worse_for")
    return bool(curves) and all(
        float((curve.points.values[1:] > times_first * float(curve.points.values[0])).mean()) >= share > 0
        and float(curve.points.values[0]) > 0
        for curve in curves
    )


def _worse_finding(case: Case, curve: Objective, high: NDArray[np.intp]) -> Finding:
    steps, values = curve.points
    share = len(high) / len(values)
    return case.finding(
        SLUG,
        "warning",
        curve.tag,
        f"{curve} started at {number(float(values[0]))} and stayed above that for {percent(share)} of the run "
        f"(typically at {number(float(np.median(values[high])))}) before it came down.",
        first_step=int(steps[high[0]]),
        last_step=int(steps[high[-1]]),
        evidence=[Evidence(curve.tag, "share of the run above the start", share, case.limit(SLUG, "worse_for"))],
    )


def _setback_finding(case: Case, curve: Objective, back: Setback) -> Finding:
    return case.finding(
        SLUG,
        "warning",
        curve.tag,
        f"{back.validation} rose from {number(back.before)} to {number(back.peak)} after step {back.first_step:,}, "
        f"{curve} rose with it, and both recovered. In between, {percent(min(back.lost, 1.0))} of the improvement was "
        "lost.",
        first_step=back.first_step,
        last_step=back.last_step,
        evidence=[Evidence(back.validation, "rise as a share of the gain before", back.lost, None, back.first_step)],
    )


def _spikes(case: Case, points: Points, found: Course) -> list[_Spike]:
    """Ranges above the loss's own trend, relative to its level and its noise, that came back."""
    values = points.values
    n = len(values)
    width = max(5, min(n // 6, 65)) | 1
    base = centered_median(values, width)
    spread = max(1.4826 * float(np.median(np.abs(values - base))), 1e-12 + 1e-9 * abs(found.best))
    limit = np.maximum(case.limit(SLUG, "noise") * spread, case.limit(SLUG, "rise") * np.abs(base))
    # The first points fall steeply, and the last ones may not have come back yet.
    above = (values - base > limit) & _far_in_logarithms(case, values, base)
    above[: max(5, n // 10)] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], above, [False]]).astype(np.int8)))
    spikes = []
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        # One point back at the level is enough after a single high one.
        back = n - end
        if back < (1 if end - first == 1 else 2):
            continue
        peak = first + int(np.argmax(values[first:end]))
        spikes.append(_Spike(int(first), int(end) - 1, int(peak), float(base[peak]), float(values[peak] - base[peak])))
    return spikes


def _far_in_logarithms(case: Case, values: Floats, base: Floats) -> np.ndarray:
    """Which points are far above the trend as a ratio. Losses of single batches may differ tenfold in healthy runs."""
    if values.min() <= 0 or base.min() <= 0:
        return np.ones(len(values), bool)
    away = np.log(values) - np.log(base)
    return away > case.limit(SLUG, "noise_of_ratios") * 1.4826 * float(np.median(np.abs(away)))


def _with_episodes(case: Case, track: Track, points: Points, spikes: list[_Spike]) -> list[_Spike]:
    """Adds long spikes from the change test. They raise the trend itself, so they do not stand out from it."""
    steps, values = points
    long = []
    for episode in episodes(case, track):
        alarm = episode.alarm
        small = episode.rise < case.limit(SLUG, "rise") * abs(alarm.level) or episode.clear < 3
        if episode.returned is not True or alarm.end_step is None or small:
            continue
        first, peak, last = (
            int(np.searchsorted(steps, at)) for at in (alarm.first_step, alarm.peak_step, alarm.end_step)
        )
        last = min(last, len(steps) - 1)
        # A quarter of it must be high: noise that comes in bursts is not a spike.
        if float(np.quantile(values[min(first, last) : last + 1], 0.75)) - alarm.level < 0.25 * episode.rise:
            continue
        long.append(_Spike(min(first, last), last, min(peak, last), alarm.level, episode.rise))
    short = [s for s in spikes if not any(one.first <= s.last and s.first <= one.last for one in long)]
    return sorted([*short, *long], key=lambda spike: spike.first)


def _counts(case: Case, spike: _Spike, found: Course) -> bool:
    """Whether a spike undid much of what was learned, or tripled the loss for several points."""
    lasts = spike.last - spike.first >= 2
    if spike.height >= case.limit(SLUG, "height") * max(found.gain, 1e-300):
        return True
    tripled = lasts and spike.height >= 2 * abs(spike.level)
    undone = spike.height >= 0.05 * found.gain and _undone(spike, found) >= case.limit(SLUG, "undone")
    return tripled and (undone or spike.height >= 0.1 * found.gain)


def _undone(spike: _Spike, found: Course) -> float:
    """The spike as a share of the gain, both in logarithms: the first points may be far above all that came later."""
    if spike.level <= 0 or found.best <= 0 or found.start <= found.best:
        return 0.0
    return math.log(1 + spike.height / spike.level) / math.log(found.start / found.best)


def _explained(case: Case, steps: np.ndarray, spike: _Spike, near: int) -> bool:
    first, peak = int(steps[spike.first]), int(steps[spike.peak])
    return case.explained_by(first, within_steps=near, until=peak) is not None
