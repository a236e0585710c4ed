"""Overfitting: validation got worse or stays far below training, while training continues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pulseboard.core.finding import Evidence, Finding, Severity
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.clock import steps_on_clock
from pulseboard.diagnose.facts.objective import Objective, objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.facts.scores import accuracy_gap, is_accuracy, scale_of, score_of, validation_scores
from pulseboard.diagnose.facts.turned_score import turned_score
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.phrases import count, number, percent
from pulseboard.diagnose.quote import quote
from pulseboard.diagnose.stats.course import Course, course

SLUG = "overfitting"
# Memorized training data, and validation that still gains.
_PERFECT, _GOOD, _STILL_IMPROVES, _OF_GAP, _OF_VERY_WIDE_GAP = 0.9, 0.8, 0.01, 0.1, 0.25
_LEAST_ABOVE, _ALMOST_ALL = 10, 0.95
_STILL_GAINED = 0.1  # of the whole gain of validation, after it is said to have stopped
_JUMPED = 3
# From here on, the noise of evaluations is known.
_FEW = 12
_USUALLY = 0.8  # of the points after a jump are below what counts as its height
_TIMES_TRAINING = 3.0  # the validation loss at the end, where scores hold and no training accuracy is logged
_FELL_SINCE = 0.2  # of the training loss, since the first evaluation


@dataclass(frozen=True, slots=True)
class _Turn:
    curve: Objective
    course: Course


@detector(id=SLUG, reads="val.loss|val.accuracy|val.error|train.error")
def overfitting(case: Case) -> Iterator[Finding]:
    """Reports the validation set that rose most. Severity depends on what was lost and whether scores hold."""
    least = int(case.limit(SLUG, "evaluations"))
    curve = objective(case).value
    curves = validation_curves(case, points=least)
    scores = [track for role in ("val.accuracy", "val.error", "train.error") for track in case.every(role)]
    if not curves and not any(track.finite_count >= least for track in scores):
        raise TooShort(f"needs {least} evaluations")
    turns = [turn for one in curves if (turn := _turn(case, one, curve)) is not None]
    if not turns:
        worse = _score_turned(case, curve) or _memorized(case)
        if worse is not None:
            yield worse
        elif curves:
            yield from _stopped(case, curves[0], curve)
        return
    # A training problem shows in most sets. If only one of several turns up, it is a trade-off.
    if 2 * len(turns) < len(curves):
        turns = [turn for turn in turns if turn.course.rise_share >= 3 * case.limit(SLUG, "warning_share")]
        if not turns:
            return
    worst = max(turns, key=lambda turn: turn.course.rise_share)
    found = worst.course
    said = quote(worst.curve.points, found)
    yield case.finding(
        SLUG,
        "warning" if _never_better(case, worst, curve) else _severity(case, found),
        worst.curve.tag,
        f"{worst.curve} was best at step {said.best_step:,} ({said.text(said.best)}) and has risen "
        f"{percent(said.rise_share)} to {said.text(said.end)} over the "
        f"{count(found.points - 1 - said.best_at, 'evaluation')} "
        "since" + (f", while {curve} keeps falling." if curve is not None else "."),
        first_step=said.best_step,
        evidence=[
            Evidence(
                worst.curve.tag,
                "rise as a share of the best",
                found.rise_share,
                case.limit(SLUG, "warning_share"),
                said.best_step,
            ),
            Evidence(worst.curve.tag, "rise in standard errors", found.surprise, case.limit(SLUG, "surprise")),
        ],
    )


def _turn(case: Case, validation: Objective, training: Objective | None) -> _Turn | None:
    """The turn of one validation loss, if it is clear, lasts, and training keeps improving."""
    found = course(validation.points, steep=True)
    if found is None or found.rise_share < case.limit(SLUG, "share"):
        return None
    if found.points_since_best < max(2, 0.1 * found.points):
        return None
    if not _is_clear(case, validation.points.values, found):
        return None
    at = found.best_step
    if training is not None and training.track is not None and validation.track is not None:
        steps = steps_on_clock(validation.track, training.track)
        at = int(steps[min(found.best_at, len(steps) - 1)])
    # Several times what it was at first is a loss whatever training does.
    lost = found.end > case.limit(SLUG, "times_first") * max(float(validation.points.values[0]), 0.0)
    lost = lost and found.points >= _FEW and validation.points.values[0] > 0
    if training is not None and not lost and (not _keeps_falling(training, at) or _upset(training, at)):
        return None
    return _Turn(validation, found)


def _is_clear(case: Case, values: np.ndarray, found: Course) -> bool:
    """Whether a rise stands out from the noise of evaluations, and lasts."""
    beyond_noise = found.rise >= case.limit(SLUG, "noise") * found.noise
    # Too few evaluations to estimate the noise: the rise must be steady.
    if found.points < _FEW:
        steady = _steady(values[found.best_at :]) or _all_far_above(case, values[found.best_at :])
        return beyond_noise and steady and found.rise > _undone_rise(values[: found.best_at])
    surprising = found.surprise >= case.limit(SLUG, "surprise") and found.stays_up >= 0.3 * found.rise
    return (beyond_noise and surprising) or _stays_above(case, values, found)


def _all_far_above(case: Case, values: np.ndarray) -> bool:
    """Whether all of a few evaluations since the best are far above it: it jumped, and stays up."""
    later = values[1:]
    return (
        len(later) >= _JUMPED
        and values[0] > 0
        and bool(later.min() > (1 + case.limit(SLUG, "severe_share")) * values[0])
    )


def _undone_rise(values: np.ndarray) -> float:
    """The largest rise above an earlier value, in evaluations after which a better one came."""
    return float((values - np.minimum.accumulate(values)).max()) if len(values) else 0.0


def _stays_above(case: Case, values: np.ndarray, found: Course) -> bool:
    """Whether almost every evaluation of the second half since the best is far above it, however noisy they are."""
    later = values[found.best_at + (found.points_since_best + 1) // 2 :]
    above = (1 + case.limit(SLUG, "warning_share")) * found.best
    return found.best > 0 and len(later) >= _LEAST_ABOVE and float((later > above).mean()) >= _ALMOST_ALL


def _score_turned(case: Case, training: Objective | None) -> Finding | None:
    """A validation score or error that is clearly worse than it was, while training continues."""
    turned = turned_score(case).value
    if turned is None or training is None:
        return None
    step = turned.said.best_step
    if turned.sign < 0 and (not _keeps_falling(training, step) or _upset(training, step)):
        return None
    went = "fallen" if turned.sign < 0 else "risen"
    falls = _keeps_falling(training, step)
    return case.finding(
        SLUG,
        "warning",
        turned.tag,
        f"{turned.tag} was best at step {step:,} ({turned.best}) and has {went} to {turned.end}"
        + (f", while {training} keeps falling." if falls else "."),
        first_step=step,
        evidence=[Evidence(turned.tag, "change as a share of the best", turned.lost, None, step)],
    )


def _memorized(case: Case) -> Finding | None:
    """Training accuracy is almost perfect, and validation accuracy stays far below it."""
    gap = accuracy_gap(case)
    if gap is None or gap < case.limit(SLUG, "wide_gap") or may_rise(case):
        return None
    for tag, twin in case.reading.twins.items():
        track, other = case.tracks[tag], case.tracks[twin]
        very_wide = gap >= case.limit(SLUG, "very_wide_gap")
        score = score_of(track) if is_accuracy(tag) and track.finite_count >= 8 else None
        known = float(np.median(other.tail.values[-3:])) * scale_of(other)
        if score is None or known < (_GOOD if very_wide else _PERFECT):
            continue
        steps, values = track.points(most=256)
        half = len(values) // 2
        improved = float(np.median(values[-3:]) - np.median(values[half : half + 3])) * scale_of(track)
        if improved > max(_STILL_IMPROVES, (_OF_GAP if not very_wide else _OF_VERY_WIDE_GAP) * gap):
            continue
        return case.finding(
            SLUG,
            "warning",
            track,
            f"{other.tag} is {percent(known)}, but {track.tag} is "
            f"{percent(float(np.median(values[-3:])) * scale_of(track))} and has hardly improved since step "
            f"{int(steps[half])} ({percent(float(values[half]) * scale_of(track))}).",
            first_step=int(steps[half]),
            evidence=[Evidence(tag, "training accuracy above validation accuracy", gap, case.limit(SLUG, "wide_gap"))],
        )
    return None


def _stopped(case: Case, validation: Objective, training: Objective | None) -> Iterator[Finding]:
    """A note where validation has stopped improving in the first part of the run and training has not."""
    found = course(validation.points)
    if found is None or training is None or found.points < 8 or found.gain < 4 * found.error:
        return
    steps, values = validation.points
    near = np.flatnonzero(values <= found.best + max(0.02 * abs(found.best), 2 * found.noise))
    first = int(steps[near[0]])
    then, lowest = float(values[near[0]]), float(values.min())
    if near[0] > case.limit(SLUG, "stopped") * found.points or found.rise_share > 0.05:
        return
    if then - lowest > _STILL_GAINED * found.gain:
        return
    at = int(np.searchsorted(training.points.steps, first))
    before = training.points.values[max(0, at - 3) : at + 3]
    after = training.points.values[-max(3, len(training.points.values) // 20) :]
    if not len(before) or float(np.median(after)) > 0.8 * float(np.median(before)):
        return
    yield case.finding(
        SLUG,
        "info",
        validation.tag,
        f"{validation} was {number(then)} at step {first:,} and {number(lowest)} at best. In that time, {training} "
        "fell "
        f"from {number(float(np.median(before)))} to {number(float(np.median(after)))}.",
        first_step=first,
        evidence=[
            Evidence(
                validation.tag,
                "share of the evaluations before it stopped",
                float(near[0]) / found.points,
                case.limit(SLUG, "stopped"),
            )
        ],
    )


def _steady(values: np.ndarray) -> bool:
    """Whether a few values rise throughout, with at most one exception in three."""
    ups = np.diff(values) > 0
    return bool(ups.mean() >= 2 / 3) and bool(values[-1] >= values[0]) and bool(values[1:].min() > values[0])


def _upset(curve: Objective, step: int) -> bool:
    """Whether the training loss jumped where validation was best: a data change, not memorization."""
    found = course(curve.points)
    steps, values = curve.points
    at = int(np.searchsorted(steps, step))
    near = max(3, len(values) // 12)
    before, after = values[max(0, at - near) : at + 1], values[at + 1 : at + 1 + near]
    if found is None or len(before) < 2 or len(after) < 2:
        return False
    # The level and not the highest point: of many noisy points, one is always high.
    jump = float(np.quantile(after, _USUALLY) - np.median(before))
    return jump > 5 * found.noise and jump > 0.2 * found.gain


def _keeps_falling(curve: Objective, step: int) -> bool:
    """Whether the training loss is lower at the end than when validation was best."""
    steps, values = curve.points
    at = int(np.searchsorted(steps, step))
    if at >= len(values) - 1:
        return False
    reach = max(1, min(len(values) // 10, at + 1, len(values) - at))
    then = float(np.median(values[max(0, at - reach) : at + reach]))
    return float(np.median(values[-reach:])) < then


def _never_better(case: Case, turn: _Turn, training: Objective | None) -> bool:
    """Whether no evaluation came near the first one, while the training loss fell a lot: all of it was memorized."""
    values = turn.curve.points.values
    if training is None or turn.course.best_at > 0 or len(values) >= _FEW or validation_scores(case):
        return False
    if values[1:].min() < (1 + case.limit(SLUG, "first_is_best")) * values[0]:
        return False
    steps, losses = training.points
    reach = max(3, len(losses) // 20)
    at = int(np.searchsorted(steps, turn.course.best_step))
    then, now = float(np.median(losses[max(0, at - reach) : at + reach])), float(np.median(losses[-reach:]))
    return len(losses) >= 4 * reach and now <= (1 - _FELL_SINCE) * then


def _far_above_training(case: Case) -> bool:
    """Whether every validation loss ends at several times its training loss: the rest is memorized."""
    pairs = [
        (case.tracks[tag], case.tracks[twin])
        for tag, twin in case.reading.twins.items()
        if tag in case.reading.tags.get("val.loss", ()) and tag not in case.reading.maximized
    ]
    ends = [tuple(float(np.median(one.tail.values[-5:])) for one in pair) for pair in pairs]
    return bool(ends) and all(train > 0 and val > _TIMES_TRAINING * train for val, train in ends)


def _severity(case: Case, found: Course) -> Severity:
    scores = validation_scores(case)
    hurt = any(score.falls for score in scores)
    holds = bool(scores) and all(score.holds for score in scores)
    share = found.rise_share
    if holds:
        # The model is only more confident in its mistakes; its answers are as good as before.
        gap = accuracy_gap(case)
        apart = gap is not None and gap >= case.limit(SLUG, "gap")
        wide = (apart or (gap is None and _far_above_training(case))) and share >= case.limit(SLUG, "warning_share")
        return "warning" if wide or share >= case.limit(SLUG, "sure_share") else "info"
    lost = min(found.lost_share, 10.0)
    if (share >= case.limit(SLUG, "severe_share") and lost >= 1.0) and (hurt or not scores) and found.points >= 6:
        return "critical"
    # Validation that ends worse than it started was hurt, however small the rise.
    worse = lost >= 1.0 and found.points >= 10 and found.surprise >= case.limit(SLUG, "sure")
    return "warning" if worse or (share >= case.limit(SLUG, "warning_share") and lost >= 0.05) else "info"
