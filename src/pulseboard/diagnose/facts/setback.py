"""Setback: training and validation lose most of their gain at the same time, and recover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.clock import steps_on_clock
from pulseboard.diagnose.facts.fact import Fact, fact
from pulseboard.diagnose.facts.objective import Objective, objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.stats.course import Course, course
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Floats, Ints

_EVALUATIONS = 6
# Of what was gained before, in both curves; of the first value, below which it is not much of a gain.
_LOST, _GAINED = 0.6, 0.08
# Training recovers from lost weights within a few steps, between two points of its loss.
_LOST_IN_TRAINING = 0.4
# Standard deviations of single points.
_NOISE = 4.0
# A rate that rises by this share between two evaluations explains a setback: a warm restart, a cycle.
_RATE_RISE = 0.3
# Rises of this share of the highest one count as another setback.
_AGAIN = 0.3


@dataclass(frozen=True, slots=True)
class Setback:
    """Where it was, in steps of the training loss, and how high the validation loss rose."""

    first_step: int
    last_step: int
    validation: str
    before: float  # the best validation loss until then
    peak: float
    lost: float  # of what validation had gained


@fact("setback")
def setback(case: Case) -> Fact[Setback]:
    """The largest one; unknown without evaluations of a loss that should fall."""
    curve = objective(case).value
    curves = validation_curves(case, points=_EVALUATIONS)
    if curve is None or curve.track is None or not curves or may_rise(case):
        return Fact(None, why="no evaluations next to a training loss that should fall")
    found = [one for other in curves if (one := _setback(case, curve, other)) is not None]
    # A set of data that only one of several shows is about that set.
    if not found or 2 * len(found) < len(curves):
        return Fact(None, why="training and validation never got worse together")
    worst = max(found, key=lambda one: one.lost)
    return Fact(worst, 0.8, (curve.tag, worst.validation), "both curves lost most of what they had gained")


def _setback(case: Case, training: Objective, validation: Objective) -> Setback | None:
    steps, losses = training.points
    values = validation.points.values
    whole = course(training.points)
    if whole is None or training.track is None or validation.track is None:
        return None
    at = steps_on_clock(validation.track, training.track)[: len(values)]
    if len(at) != len(values):
        return None
    noise = noise_scale(values[len(values) // 4 :])
    if case.one("lr") is None and _comes_back(values):
        return None
    best = np.minimum.accumulate(values)
    # The first evaluations are part of the first fall, and what stays lost has a finding of its own.
    for i in sorted(range(2, len(values) - 1), key=lambda i: float(best[i - 1] - values[i])):
        gain, rise = float(values[0] - best[i - 1]), float(values[i] - best[i - 1])
        if gain < _GAINED * abs(float(values[0])) or rise < max(_LOST * gain, _NOISE * noise):
            continue
        low = int(np.argmin(values[:i]))
        end = next((j for j in range(i, len(values)) if values[j] < best[i - 1] + 0.5 * rise), None)
        first, last = int(at[low]), int(at[i])
        if end is None or _rate_rose(case, first, last) or not _training_rose(steps, losses, whole, first, last):
            continue
        peak = float(values[low:end].max())
        return Setback(first, int(at[end]), validation.tag, float(best[i - 1]), peak, rise / gain)
    return None


def _comes_back(values: Floats) -> bool:
    """Whether a loss rises far above its best so far again and again: a cyclic learning rate that is not logged."""
    above = values - np.minimum.accumulate(values)
    high = above > _AGAIN * float(above.max())
    return int((np.diff(high.astype(np.int8)) == 1).sum()) > 1


def _training_rose(steps: Ints, losses: Floats, whole: Course, first: int, last: int) -> bool:
    """Whether the level of training rose between two steps by a large part of its own gain."""
    before, during = losses[steps <= first], losses[(steps > first) & (steps <= last)]
    if len(before) < 3 or not len(during):
        return False
    width = max(1, min(whole.width, len(during)))
    level = float(np.median(before[-max(3, whole.width) :]))
    peak = max(float(np.median(during[i : i + width])) for i in range(len(during) - width + 1))
    gain = whole.start - level
    return gain > _GAINED * abs(whole.start) and peak - level > max(
        _LOST_IN_TRAINING * gain, _NOISE * whole.noise / np.sqrt(width)
    )


def _rate_rose(case: Case, first: int, last: int) -> bool:
    rate = case.one("lr")
    if rate is None or not rate.finite_count:
        return False
    steps, values = rate.points(most=1024)
    around = values[(steps >= first) & (steps <= last)]
    return len(around) > 1 and float(around.max()) > (1 + _RATE_RISE) * float(around[0])
