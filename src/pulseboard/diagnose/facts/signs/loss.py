"""Signs of the training loss: how far it fell, how fast, how smoothly, and where it jumped."""

from __future__ import annotations

import math

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.scores import choices
from pulseboard.diagnose.facts.signs.sign import sign
from pulseboard.diagnose.stats.course import Course, centered_median
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points, Track


def _fall(case: Case) -> float | None:
    """The best level's distance from the start, as a share of the start."""
    found = loss_course(case).value
    if found is None or found.points < 5 or found.start == 0:
        return None
    return found.gain / abs(found.start)


@sign("loss-stays", "the training loss never moved by more than 3 %")
def loss_stays(case: Case) -> bool | None:
    """Neither down nor up: with a step size of almost 0, only the batches differ."""
    found, fall = loss_course(case).value, _fall(case)
    if found is None or fall is None:
        return None
    return fall < 0.03 + 2 * found.error / abs(found.start) and abs(found.end - found.start) < 0.05 * abs(found.start)


@sign("loss-fell-some", "the training loss fell by a third or more")
def loss_fell_some(case: Case) -> bool | None:
    fall = _fall(case)
    return None if fall is None else fall > 0.33


@sign("loss-fell-far", "the training loss fell to a fifth or less")
def loss_fell_far(case: Case) -> bool | None:
    fall = _fall(case)
    return None if fall is None else fall > 0.8


@sign("slow-fall", "the training loss falls steadily, but hardly at all")
def slow_fall(case: Case) -> bool | None:
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None or found.points < 10:
        return None
    line = trend(curve.points)
    if line is None:
        return None
    return line.p_falling < 1e-4 and 0 < found.gain < 0.08 * abs(found.start)


@sign("falls-straight", "the training loss falls in a straight line and is still near its start")
def falls_straight(case: Case) -> bool | None:
    """Learning slows down as it gets better. One that does not has hardly begun."""
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None or found.points < 6:
        return None
    first, middle, last = (float(np.median(part)) for part in np.array_split(curve.points.values, 3))
    if not 4 * found.error < first - last < 0.4 * abs(first):
        return False
    return middle - last > 0.6 * (first - middle)


@sign("flat-after-drop", "the training loss dropped at the start and has not moved since")
def flat_after_drop(case: Case) -> bool | None:
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None or found.points < 8:
        return None
    values = curve.points.values
    later = values[max(2, len(values) // 6) :]
    level = abs(float(np.median(later)))
    flat = abs(float(np.median(later[: len(later) // 2])) - float(np.median(later[len(later) // 2 :]))) < 0.01 * level
    return bool(flat and float(values[0]) > 1.05 * level)


@sign("fell-at-once", "nearly all of the fall was over after a tenth of the run")
def fell_at_once(case: Case) -> bool | None:
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None or found.points < 20 or found.gain < 0.05 * abs(found.start):
        return None
    values = curve.points.values
    early = float(np.median(values[len(values) // 10 : len(values) // 5 + 1]))
    return found.start - early > 0.9 * found.gain


@sign("early-burst", "the training loss rose to 1.5 times its start within the first fifth of the run")
def early_burst(case: Case) -> bool | None:
    curve = objective(case).value
    if curve is None or len(curve.points.values) < 8:
        return None
    values = curve.points.values
    early = values[: max(4, len(values) // 5)]
    return bool(early.max() > 1.5 * abs(float(values[0])))


@sign("ends-above-start", "the training loss ends above where it started")
def ends_above_start(case: Case) -> bool | None:
    found = loss_course(case).value
    if found is None or found.points < 6:
        return None
    return found.end > found.start + max(0.05 * abs(found.start), 3 * found.error)


@sign("starts-high", "the first training loss is at least 3 times that of the second quarter")
def starts_high(case: Case) -> bool | None:
    curve = objective(case).value
    if curve is None or len(curve.points.values) < 8:
        return None
    values = curve.points.values
    later = float(np.median(values[len(values) // 4 : len(values) // 2]))
    return later > 0 and float(values[0]) > 3 * later


@sign("first-loss-huge", "the first training loss is at least 6 times the level after a tenth of the run")
def first_loss_huge(case: Case) -> bool | None:
    curve = objective(case).value
    if curve is None or len(curve.points.values) < 8:
        return None
    values = curve.points.values
    soon = float(np.median(values[max(1, len(values) // 10) : len(values) // 5 + 2]))
    return soon > 0 and float(values[0]) > 6 * soon


@sign("starts-above-chance", "the first training loss is far above that of a random guess")
def starts_above_chance(case: Case) -> bool | None:
    curve, among = objective(case).value, choices(case).value
    if curve is None or not among or among < 2 or not len(curve.points.values):
        return None
    return float(curve.points.values[0]) > 1.4 * math.log(among)


@sign("ends-at-chance", "the training loss ends at that of a random guess")
def ends_at_chance(case: Case) -> bool | None:
    found, among = loss_course(case).value, choices(case).value
    if found is None or not among or among < 2:
        return None
    return abs(found.end - math.log(among)) < 0.08 * math.log(among)


@sign("ends-above-chance", "the training loss ends above that of a random guess")
def ends_above_chance(case: Case) -> bool | None:
    found, among = loss_course(case).value, choices(case).value
    if found is None or not among or among < 2:
        return None
    return found.end > 1.08 * math.log(among)


@sign("still-falling", "the training loss still falls over the last third")
def still_falling(case: Case) -> bool | None:
    curve = objective(case).value
    if curve is None or len(curve.points.values) < 24:
        return None
    steps, values = curve.points
    line = trend(Points(steps[-len(steps) // 3 :], values[-len(values) // 3 :]))
    return None if line is None else line.p_falling < 1e-3 and line.start - line.end > 0.02 * abs(line.start)


@sign("noisy-loss", "the noise of the training loss is at least a fifth of the improvement")
def noisy_loss(case: Case) -> bool | None:
    found = loss_course(case).value
    return None if found is None or found.points < 16 else found.noise > 0.2 * max(found.gain, 0.02 * abs(found.start))


@sign("wild-loss", "the training loss keeps jumping to several times its level")
def wild_loss(case: Case) -> bool | None:
    curve = objective(case).value
    if curve is None or len(curve.points.values) < 16:
        return None
    values = curve.points.values[len(curve.points.values) // 5 :]
    level = centered_median(values, 9)
    return bool((level > 0).all() and float(np.quantile(values / level, 0.95)) > 2)


def _broken(case: Case) -> Track | None:
    """The first loss that is not finite somewhere."""
    tracks = [track for role in ("train.loss", "gan.loss", "rl.loss", "loss.components") for track in case.every(role)]
    return next((track for track in tracks if track.not_finite and track.not_finite.first_step is not None), None)


def nan_at_first(case: Case) -> bool:
    """Whether a loss was never finite: nothing came before that could tell why."""
    broken = _broken(case)
    return broken is not None and broken.not_finite.first_step == broken.first_step


@sign("calm-before-nan", "the training loss was at its usual level right before its first NaN", apart=True)
def calm_before_nan(case: Case) -> bool | None:
    """A loss that blows up does so within the first steps, or grows by orders of magnitude before it breaks."""
    broken = _broken(case)
    if broken is None or broken.not_finite.first_step is None or nan_at_first(case):
        return None
    if broken.not_finite.first_step <= _share(case, 0.1):
        return False
    steps, values = broken.points(most=512)
    before = values[steps < broken.not_finite.first_step]
    if len(before) < 3:
        return None
    last, level = float(before[-3:].max()), float(np.median(before[-12:]))
    return last <= level + 0.3 * max(float(np.ptp(before)), 1e-300) or 0 < last <= 3 * level


@sign("jumps", "the training loss jumped up at one point in mid-run")
def jumps(case: Case) -> bool | None:
    found = _jump(case)
    return None if found is None else found > 0


@sign("jump-stays", "after a jump in mid-run, the training loss stays up")
def jump_stays(case: Case) -> bool | None:
    curve, at = objective(case).value, _jump(case)
    if curve is None or not at:
        return None
    values = curve.points.values
    before = float(np.median(values[max(0, at - 8) : at]))
    after = float(np.median(values[at:][-max(3, (len(values) - at) // 4) :]))
    return after > before + 0.3 * (float(values[at : at + 3].max()) - before)


@sign("jump-with-rate", "the learning rate jumped up where the training loss did", apart=True)
def jump_with_rate(case: Case) -> bool | None:
    curve, at, rate = objective(case).value, _jump(case), case.one("lr")
    if curve is None or not at or rate is None or rate.finite_count < 4:
        return None
    step, width = int(curve.points.steps[at]), max(1, int(_share(case, 0.03)) - (case.steps or (0, 0))[0])
    steps, values = rate.points()
    before = values[(steps < step - width // 4) & (steps >= step - 3 * width)]
    near = values[(steps >= step - width) & (steps <= step + width)]
    return bool(len(before) and len(near) and near.max() > 1.5 * before[-1] + 1e-30)


def _share(case: Case, share: float) -> float:
    first, last = case.steps or (0, 0)
    return first + share * (last - first)


def _jump(case: Case) -> int | None:
    """The index of the largest jump after the first fifth; 0 if there is none, None if the loss is too short."""
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None or found.points < 12:
        return None
    return largest_jump(curve.points.values, found)


def largest_jump(values: np.ndarray, found: Course) -> int:
    """Where the level of the next few points is above that of the last few by more than noise and learning explain."""
    width = 3 if len(values) < 60 else 5
    level = centered_median(values, width)
    half = width // 2 + 1
    rise = level[2 * half :] - level[: -2 * half]
    start = len(values) // 5
    if len(rise) <= start:
        return 0
    at = start + int(np.argmax(rise[start:]))
    size = float(rise[at])
    clear = size > max(5 * found.noise, 0.15 * max(found.gain, 0.0), 0.05 * abs(found.best))
    return at + half if clear else 0
