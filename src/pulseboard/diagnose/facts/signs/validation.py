"""Signs of validation: whether it learned, how far it is from training, and since when."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.clock import steps_on_clock
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.scores import accuracies, accuracy_gap, choices, scale_of
from pulseboard.diagnose.facts.signs.loss import jumps
from pulseboard.diagnose.facts.signs.sign import sign
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.stats.course import Course, course
from pulseboard.diagnose.track import Floats, Track


def _validation(case: Case) -> tuple[Floats, Course] | None:
    """The validation loss and its course, which starts at the first evaluation: there are often only a few."""
    curves = validation_curves(case, points=4)
    found = course(curves[0].points) if curves else None
    if found is None:
        return None
    first = float(curves[0].points.values[0])
    # A rise is not a fall from the median of the first points.
    return curves[0].points.values, replace(found, start=min(found.start, max(first, found.best)))


def _pairs(case: Case) -> tuple[Floats, Floats] | None:
    """Training and validation losses at the evaluations; None if they are not the same quantity."""
    curves = validation_curves(case, points=3)
    curve = objective(case).value
    if not curves or curve is None or len(curve.points.values) < 4 or curves[0].tag not in case.reading.twins:
        return None
    track = curves[0].track
    if track is None or curve.track is None:
        return None
    steps = steps_on_clock(track, curve.track)[-len(curves[0].points.values) :]
    values = curves[0].points.values
    if len(steps) != len(values):
        return None
    near = np.interp(steps.astype(float), curve.points.steps.astype(float), curve.points.values)
    return near, values


def _late(case: Case) -> bool:
    """Whether most of the fall of the training loss was over before the first evaluation."""
    pairs, found = _pairs(case), loss_course(case).value
    if pairs is None or found is None or not _clearly_fell(found):
        return False
    return found.start - float(pairs[0][0]) > 0.5 * found.gain


def _evenly(case: Case, found: Course) -> bool:
    """Whether the training loss had made less than half of its fall after a third of the run."""
    curve = objective(case).value
    if curve is None:
        return False
    values = curve.points.values
    third = len(values) // 3
    level = float(np.median(values[max(0, third - 1) : third + 2]))
    return found.start - level < 0.5 * (found.start - found.end)


def _clearly_fell(found: Course) -> bool:
    return found.gain > max(0.15 * abs(found.start), 4 * found.error)


@sign("val-still", "the validation loss never moved by more than 1 %")
def val_still(case: Case) -> bool | None:
    found = _validation(case)
    return None if found is None else bool(np.ptp(found[0]) < 0.01 * max(1e-12, abs(float(np.median(found[0])))))


@sign("val-exact", "several evaluations gave exactly the same loss", apart=True)
def val_exact(case: Case) -> bool | None:
    curves = validation_curves(case, points=4)
    track = curves[0].track if curves else None
    if track is None:
        return None
    streak = track.longest_streak
    return streak is not None and streak.length >= max(3, 0.5 * len(track))


@sign("val-learned-first", "the validation loss improved by a tenth before anything went wrong with it")
def val_learned_first(case: Case) -> bool | None:
    found = _validation(case)
    return None if found is None or _late(case) else found[1].gain >= 0.1 * abs(found[1].start)


@sign("val-never-learned", "the validation loss was never clearly below its first value")
def val_never_learned(case: Case) -> bool | None:
    found = _validation(case)
    if found is None or _late(case):
        return None
    return found[1].gain < max(0.03 * abs(found[1].start), 2 * found[1].error)


@sign("val-ends-worse", "the validation loss ends above its first value")
def val_ends_worse(case: Case) -> bool | None:
    found = _validation(case)
    if found is None:
        return None
    return found[1].end > found[1].start + max(0.05 * abs(found[1].start), 2 * found[1].error)


@sign("val-worse-at-once", "the validation loss gets worse from the first evaluations on")
def val_worse_at_once(case: Case) -> bool | None:
    found = _validation(case)
    if found is None or _late(case):
        return None
    values, way = found
    early = way.best_at <= max(1, len(values) // 10)
    return bool(early and way.end > way.best + max(0.03 * abs(way.best), 2 * way.error))


@sign("val-wild", "the validation loss jumps up and down by multiples of itself")
def val_wild(case: Case) -> bool | None:
    found = _validation(case)
    if found is None or len(found[0]) < 5:
        return None
    values = np.abs(found[0])
    turns = np.sign(np.diff(found[0]))
    return bool(values.max() > 2 * np.median(values) and (turns[1:] != turns[:-1]).mean() > 0.4)


@sign("val-bad-at-first", "the first validation loss is already far above the training loss of that time")
def val_bad_at_first(case: Case) -> bool | None:
    pairs = _pairs(case)
    return None if pairs is None or _late(case) else float(pairs[1][0]) > 1.4 * abs(float(pairs[0][0]))


@sign("no-gap", "validation and training end at the same loss")
def no_gap(case: Case) -> bool | None:
    pairs = _pairs(case)
    if pairs is None:
        return None
    train, val = (float(np.median(values[-3:])) for values in pairs)
    return abs(val - train) < 0.12 * max(abs(val), abs(train))


@sign("wide-gap", "the validation loss ends at twice the training loss or more")
def wide_gap(case: Case) -> bool | None:
    pairs = _pairs(case)
    if pairs is None:
        return None
    train, val = (float(np.median(values[-3:])) for values in pairs)
    return val > 2 * abs(train)


@sign("gap-at-once", "most of the gap between validation and training was there at the first evaluations")
def gap_at_once(case: Case) -> bool | None:
    pairs = _pairs(case)
    if pairs is None or _late(case) or len(pairs[0]) < 4:
        return None
    gaps = pairs[1] - pairs[0]
    last = float(np.median(gaps[-3:]))
    if last < 0.25 * abs(float(np.median(pairs[0][-3:]))):
        return None
    return float(np.median(gaps[:2])) > 0.5 * last


@sign("train-falls-val-not", "training learned, and validation did not")
def train_falls_val_not(case: Case) -> bool | None:
    found, train = _validation(case), loss_course(case).value
    if found is None or _late(case) or train is None or train.start == 0:
        return None
    fell = train.gain > 0.3 * abs(train.start)
    return fell and found[1].gain < 0.1 * abs(found[1].start)


@sign("val-follows", "validation and training fell together, by about as much")
def val_follows(case: Case) -> bool | None:
    """What is learned is learned for good: the labels are right, and there is enough data."""
    pairs = _pairs(case)
    if pairs is None or len(pairs[0]) < 4:
        return None
    fell = [float(values[0]) - float(np.median(values[-3:])) for values in pairs]
    if fell[0] < 0.02 * abs(float(pairs[0][0])):
        return None
    return 0.6 * fell[0] < fell[1] < 1.7 * fell[0]


@sign("val-below", "the validation loss stays below the training loss by a tenth or more")
def val_below(case: Case) -> bool | None:
    pairs, found = _pairs(case), loss_course(case).value
    if pairs is None or len(pairs[0]) < 4 or found is None or found.gain < 0.05 * abs(found.start):
        return None  # the level of a model that has learned nothing is that of the data
    train, val = (values[len(values) // 3 :] for values in pairs)
    return bool(np.mean(val < train - 0.1 * np.abs(train)) > 0.8)


@sign("val-beyond-untrained", "validation is far worse than that of an untrained model", apart=True)
def val_beyond_untrained(case: Case) -> bool | None:
    """At 5 times its loss, or at 1.5 times while training is far from solved and learns as it should.

    Wrong answers cost more the surer a model is of them, but it gets that sure only of what it has memorized. Else
    the evaluation has other inputs, another mode or another scale.
    """
    pairs, found = _pairs(case), loss_course(case).value
    if pairs is None or found is None or not _clearly_fell(found) or jumps(case):
        return None
    first = max(abs(found.start), abs(float(pairs[0][0])))
    level = float(np.median(pairs[1][len(pairs[1]) // 3 :]))
    return level > 5 * first or (level > 1.5 * first and found.end > 0.15 * first and not _evenly(case, found))


@sign("memorizes-evenly", "training improved no faster at first than later, and validation did not improve", apart=True)
def memorizes_evenly(case: Case) -> bool | None:
    """What can be learned is learned first. Answers that follow from nothing are memorized one by one."""
    found, held_out = loss_course(case).value, _validation(case)
    if found is None or held_out is None or found.points < 6 or not _clearly_fell(found):
        return None
    if held_out[1].gain >= 0.1 * abs(held_out[1].start) or _late(case):
        return None
    return _evenly(case, found)


@sign("val-repeats-while-learning", "evaluations repeat to the last digit while the training loss falls", apart=True)
def val_repeats_while_learning(case: Case) -> bool | None:
    """The weights change, so what repeats is the evaluation."""
    curves, curve = validation_curves(case, points=4), objective(case).value
    track = curves[0].track if curves else None
    streak = track.longest_streak if track is not None else None
    if track is None or streak is None or curve is None or curve.track is None:
        return None
    if streak.length < max(3, 0.5 * len(track)):
        return None
    repeats = (track.points().steps >= streak.first_step) & (track.points().steps <= streak.last_step)
    if not repeats.any():
        return None
    steps = steps_on_clock(track, curve.track)[repeats]
    near = (curve.points.steps >= steps[0]) & (curve.points.steps <= steps[-1])
    values = curve.points.values[near]
    if len(values) < 4:
        return None
    quarter = max(1, len(values) // 4)
    first, last = float(np.median(values[:quarter])), float(np.median(values[-quarter:]))
    return first - last > 0.05 * abs(first)


# ---- accuracies


def _accuracy(case: Case, role: str) -> Track | None:
    of_role = case.every(role)
    return next((track for track in accuracies(case) if track in of_role and track.finite_count >= 3), None)


def _rise(track: Track) -> float:
    values = track.points(most=256).values * scale_of(track)
    return float(np.median(values[-3:])) - float(values[0])


@sign("accuracy-constant", "an accuracy is exactly the same at most evaluations")
def accuracy_constant(case: Case) -> bool | None:
    """The model gives one answer to everything."""
    tracks = [track for track in accuracies(case) if track.finite_count >= 4]
    if not tracks:
        return None
    streak = tracks[0].longest_streak
    return streak is not None and streak.length >= 0.5 * len(tracks[0])


@sign("accuracy-low", "the validation accuracy is at chance")
def accuracy_low(case: Case) -> bool | None:
    track, among = _accuracy(case, "val.accuracy"), choices(case).value
    if track is None:
        return None
    level = float(np.median(track.tail.values[-3:])) * scale_of(track)
    return level < 1.5 / among if among else (level < 0.15 or None)


@sign("accuracy-rose", "the validation accuracy rose by 10 points or more")
def accuracy_rose(case: Case) -> bool | None:
    track = _accuracy(case, "val.accuracy")
    return None if track is None else _rise(track) > 0.1


@sign("accuracy-fell", "the validation accuracy fell by 5 points or more from its first evaluations")
def accuracy_fell(case: Case) -> bool | None:
    track = _accuracy(case, "val.accuracy")
    if track is None or track.finite_count < 4:
        return None
    values = track.points(most=256).values * scale_of(track)
    return float(values[:2].max()) - float(np.median(values[-3:])) > 0.05


@sign("accuracy-still", "the validation accuracy moved by less than 2 points")
def accuracy_still(case: Case) -> bool | None:
    track = _accuracy(case, "val.accuracy")
    return None if track is None else bool(np.ptp(track.points(most=256).values) * scale_of(track) < 0.02)


@sign("training-perfect", "training is solved: an accuracy of 98 %, or a loss of a twentieth of its start")
def training_perfect(case: Case) -> bool | None:
    track = _accuracy(case, "train.accuracy")
    if track is not None:
        return float(np.median(track.tail.values[-3:])) * scale_of(track) >= 0.98
    found = loss_course(case).value
    return None if found is None or found.start <= 0 else found.end < 0.05 * found.start


@sign("wide-accuracy-gap", "training accuracy ends 20 points above validation accuracy")
def wide_accuracy_gap(case: Case) -> bool | None:
    gap = accuracy_gap(case)
    return None if gap is None else gap > 0.2
