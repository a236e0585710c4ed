"""Learning: whether the model gets better, by every curve that could show it."""

from __future__ import annotations

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.fact import Fact, fact
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.scores import scale_of
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.stats.course import LEAST_POINTS, Course, course
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Points

# A fall below this share of the start does not count.
_NO_FALL = 0.02
_CLEAR_FALL, _LARGER_FALL = 0.05, 0.08
_SURE, _HALF_SURE, _BEYOND_DOUBT = 4.0, 3.0, 12.0
_SMALL_FALL = 0.03
_KEPT = 0.3  # of the gain, that may be lost again
_NO_RISE = 0.05
_STANDSTILL = 0.01
ON_HELD_OUT = "nothing improved on held-out data"
# A training loss that fell by less, and not clearly, says nothing where held-out data says no.
_HIDDEN_FALL = 0.25


@fact("learning")
def learning(case: Case) -> Fact[bool]:
    """True if any loss clearly fell or any score clearly rose; False if none of several curves moved."""
    seen: list[tuple[str, bool | None]] = []
    fallen = loss_course(case).value
    curve = objective(case).value
    if fallen is not None and curve is not None:
        seen.append((curve.tag, _improved(curve.points)))
    held_out = [(curve.tag, _improved(curve.points)) for curve in validation_curves(case, points=LEAST_POINTS)[:4]]
    seen += held_out
    for track in (*case.every("val.accuracy"), *case.every("train.accuracy"))[:6]:
        steps, values = track.points(most=256)
        if len(values) >= LEAST_POINTS:
            improved = _improved(Points(steps, -values))
            # An accuracy wobbles by a few percent, whether the run is healthy or not.
            small = bool(words_of(track.tag).rest & {"acc", "accuracy"}) and np.ptp(values) * scale_of(track) < _NO_RISE
            seen.append((track.tag, False if small and track.finite_count >= 5 else improved))
    better = [tag for tag, improved in seen if improved]
    if better:
        return Fact(True, 0.95 if len(better) > 1 else 0.85, tuple(better[:3]), "it improved")
    still = [tag for tag, improved in seen if improved is False]
    if still and len(still) == len(seen):
        return Fact(False, 0.9 if len(still) > 1 else 0.75, tuple(still[:3]), "none of these improved")
    if held_out and all(improved is False for _, improved in held_out) and _small_fall(fallen):
        return Fact(False, 0.7, tuple(tag for tag, _ in held_out[:3]), ON_HELD_OUT)
    return Fact(None, why="the curves are too short or too noisy to tell")


def _small_fall(fallen: Course | None) -> bool:
    """Whether the training loss fell by less than its noise hides, or is not logged."""
    return fallen is None or fallen.start - fallen.end < _HIDDEN_FALL * abs(fallen.start)


def _improved(points: Points) -> bool | None:
    """Whether a curve that should fall came down: yes, no, or hard to say."""
    found = course(points)
    if found is None:
        return None
    size = max(abs(found.start), abs(found.best), 1e-12)
    line = trend(points)
    # A trend over few points is never sure; one over many is, however noisy they are.
    p = line.p_falling if line is not None else 0.0
    sure = found.gain / found.error
    if found.gain >= _CLEAR_FALL * size and sure > _SURE and p < 0.05:
        return True
    if found.gain >= _LARGER_FALL * size and sure > _HALF_SURE and p < 0.001:
        return True
    if found.gain >= _SMALL_FALL * size and sure > _BEYOND_DOUBT and found.rise < _KEPT * found.gain:
        return True
    if found.points >= 10 and found.gain < _NO_FALL * size:
        return False
    # Few points show that nothing changes if they hardly move at all.
    if float(np.ptp(points.values)) < _STANDSTILL * size:
        return False
    # The best of many noisy points is always below the first: the end and the trend decide.
    fall = found.start - found.end
    if found.points >= 6 and fall < max(_NO_FALL * size, 2 * found.error) and (line is None or line.p_falling > 0.01):
        return False
    return None


@fact("weights-move")
def weights_move(case: Case) -> Fact[bool]:
    """Whether updates change the weights: by the update ratio, the weight norm, or identical evaluations."""
    ratio = case.one("update.ratio")
    if ratio is not None and ratio.finite_count >= 3:
        values = ratio.points(most=512).values
        return Fact(bool((values[len(values) // 4 :] > 0).any()), 0.95, (ratio.tag,), "the update ratio")
    rate = case.one("lr")
    if rate is not None and rate.finite_count >= 3 and bool((rate.points().values == 0).all()):
        return Fact(False, 0.8, (rate.tag,), "the learning rate is 0 throughout")
    norm = case.one("parameter.norm")
    if norm is not None and norm.finite_count >= 3:
        values = norm.points(most=512).values
        return Fact(bool(np.ptp(values) > 0), 0.9, (norm.tag,), "the norm of the weights")
    losses = [track for track in case.every("val.loss") if track.finite_count >= 4]
    same = [track for track in losses if track.longest_streak is not None and track.longest_streak.length == len(track)]
    if losses and len(same) == len(losses):
        return Fact(False, 0.6, (same[0].tag,), "every evaluation gives the same loss to the last digit")
    if (learned := learning(case)).value:
        return Fact(True, learned.confidence, learned.tags, "it learns")
    return Fact(None, why="neither updates nor weights are logged")
