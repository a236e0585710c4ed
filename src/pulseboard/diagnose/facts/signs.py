"""Signs: yes-or-no facts that tell causes apart which the same findings leave open. None: the log does not say."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.learning import weights_move
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.schedule import schedule
from pulseboard.diagnose.facts.scores import accuracies, accuracy_gap, scale_of
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.stats.course import course
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points

Sign = Callable[[Case], bool | None]


def _lr_large(case: Case) -> bool | None:
    """A peak rate that few optimizers bear: 0.02 with Adam and its like, 0.5 with any."""
    rate = schedule(case).value
    if rate is None:
        return None
    return rate.peak >= (0.02 if case.context.adaptive else 0.5)


def _lr_tiny(case: Case) -> bool | None:
    """A peak rate at which nothing moves."""
    rate = schedule(case).value
    return None if rate is None else rate.peak <= 5e-6


def _slow_fall(case: Case) -> bool | None:
    """The loss falls clearly and steadily, but hardly at all."""
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None or found.points < 10:
        return None
    line = trend(curve.points)
    if line is None:
        return None
    return line.p_falling < 1e-4 and 0 < found.gain < 0.08 * abs(found.start)


def _early_burst(case: Case) -> bool | None:
    """The loss rose to one and a half times its start within the first fifth of the run."""
    curve = objective(case).value
    if curve is None or len(curve.points.values) < 8:
        return None
    values = curve.points.values
    early = values[: max(4, len(values) // 5)]
    return bool(early.max() > 1.5 * abs(float(values[0])))


def _still_falling(case: Case) -> bool | None:
    """The loss still falls over the last third."""
    curve = objective(case).value
    if curve is None or len(curve.points.values) < 24:
        return None
    steps, values = curve.points
    line = trend(Points(steps[-len(steps) // 3 :], values[-len(values) // 3 :]))
    return None if line is None else line.p_falling < 1e-3 and line.start - line.end > 0.02 * abs(line.start)


def _val_bad_at_first(case: Case) -> bool | None:
    """The first evaluation is already far above the training loss of that time."""
    curves = validation_curves(case, points=2)
    curve = objective(case).value
    if not curves or curve is None or len(curve.points.values) < 4 or curves[0].tag not in case.reading.twins:
        return None
    return float(curves[0].points.values[0]) > 1.4 * abs(float(curve.points.values[0]))


def _val_learned_first(case: Case) -> bool | None:
    """Validation improved by a tenth before anything went wrong with it."""
    curves = validation_curves(case, points=4)
    found = course(curves[0].points) if curves else None
    return None if found is None else found.gain >= 0.1 * abs(found.start)


def _calm_before_nan(case: Case) -> bool | None:
    """The loss was at its usual level right before its first NaN."""
    curve = objective(case).value
    track = case.one("train.loss")
    if curve is None or track is None or not track.not_finite or track.not_finite.first_step is None:
        return None
    steps, values = curve.points
    before = values[steps < track.not_finite.first_step]
    if len(before) < 6:
        return None
    return bool(before[-3:].max() <= np.median(before[-12:]) + 0.3 * max(np.ptp(before), 1e-300))


def _accuracy_constant(case: Case) -> bool | None:
    """An accuracy is exactly the same at most evaluations: the model gives one answer to everything."""
    tracks = [track for track in accuracies(case) if track.finite_count >= 4]
    if not tracks:
        return None
    streak = tracks[0].longest_streak
    return streak is not None and streak.length >= 0.5 * len(tracks[0])


def _training_perfect(case: Case) -> bool | None:
    """Training is solved: an accuracy of 0.98, or a loss of a twentieth of its start."""
    for track in case.every("train.accuracy"):
        if track in accuracies(case) and track.finite_count >= 3:
            return float(np.median(track.tail.values[-3:])) * scale_of(track) >= 0.98
    found = loss_course(case).value
    return None if found is None or found.start <= 0 else found.end < 0.05 * found.start


def _wide_accuracy_gap(case: Case) -> bool | None:
    gap = accuracy_gap(case)
    return None if gap is None else gap > 0.2


def _noisy_loss(case: Case) -> bool | None:
    """The noise of the loss is a fifth of what was learned or more."""
    found = loss_course(case).value
    return None if found is None or found.points < 16 else found.noise > 0.2 * max(found.gain, 0.02 * abs(found.start))


def _starts_high(case: Case) -> bool | None:
    """The first loss is three times the second quarter's level, or more."""
    curve = objective(case).value
    if curve is None or len(curve.points.values) < 8:
        return None
    values = curve.points.values
    later = float(np.median(values[len(values) // 4 : len(values) // 2]))
    return later > 0 and float(values[0]) > 3 * later


def _weights_still(case: Case) -> bool | None:
    moves = weights_move(case).value
    return None if moves is None else not moves


def _gradient_falls(case: Case) -> bool | None:
    """The gradient norm has sunk to a fifth of its start."""
    norm = case.one("gradient.norm")
    if norm is None or norm.finite_count < 8:
        return None
    values = norm.points(most=512).values
    return float(np.median(values[-5:])) < 0.2 * float(np.median(values[:3]))


def _gradient_high(case: Case) -> bool | None:
    """The gradient norm is above 20 for most of the run."""
    norm = case.one("gradient.norm")
    return None if norm is None or norm.finite_count < 4 else float(np.median(norm.points(most=512).values)) > 20


SIGNS: Mapping[str, Sign] = {
    "sign:lr-large": _lr_large,
    "sign:lr-tiny": _lr_tiny,
    "sign:slow-fall": _slow_fall,
    "sign:early-burst": _early_burst,
    "sign:still-falling": _still_falling,
    "sign:val-bad-at-first": _val_bad_at_first,
    "sign:val-learned-first": _val_learned_first,
    "sign:calm-before-nan": _calm_before_nan,
    "sign:accuracy-constant": _accuracy_constant,
    "sign:training-perfect": _training_perfect,
    "sign:wide-accuracy-gap": _wide_accuracy_gap,
    "sign:noisy-loss": _noisy_loss,
    "sign:starts-high": _starts_high,
    "sign:weights-still": _weights_still,
    "sign:gradient-falls": _gradient_falls,
    "sign:gradient-high": _gradient_high,
}


def signs(case: Case) -> dict[str, bool]:
    """Every sign that the log can answer."""
    with np.errstate(all="ignore"):
        found = {name: sign(case) for name, sign in SIGNS.items()}
    return {name: bool(value) for name, value in found.items() if value is not None}
