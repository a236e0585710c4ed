"""Evaluation at chance: the accuracy is that of random guessing, or has never improved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding, Severity
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.learning import learning
from pulseboard.diagnose.facts.objective import objective
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.facts.scores import (
    AREAS,
    KNOWN_CHOICES,
    RECOGNITION,
    accuracies,
    at_chance,
    choices,
    is_from_zero,
    nearly_perfect,
    never_improved,
    scale_of,
)
from pulseboard.diagnose.phrases import count, number
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.track import Track

SLUG = "eval-at-chance"
_SURE = 0.9
_WRONG = 0.35
# The first points of training accuracy, and how far a model that learned is above them; two accuracies that are alike.
_FIRST_POINTS, _WELL_ABOVE, _CLOSE = 5, 0.25, 0.1
_RISEN = 0.05  # of all answers
_LEAST_TO_STAND, _STANDS = 16, 0.02  # points of a training loss, and how far its quarters may be apart
_DISTANCES = frozenset("mae mse rmse mape rmsle".split())
# An error rate from here on is in percent, and one that high means that next to nothing is right.
_IN_PERCENT, _ALL_WRONG = 5.0, 0.98


@detector(id=SLUG, reads="val.accuracy|train.accuracy|val.error")
def eval_at_chance(case: Case) -> Iterator[Finding]:
    """At one over the number of choices, if that is known; otherwise low and never improved."""
    # While the run is still going, the accuracy may still rise.
    least = int(case.limit(SLUG, "evaluations")) * (1 if case.finished else 2)
    areas = [track for track in case.every("val.accuracy") if words_of(track.tag).rest & AREAS and track.high <= 1]
    long = [track for track in (*accuracies(case), *areas) if track.finite_count >= least]
    nothing = _at_nothing(case) or _all_wrong(case)
    if nothing is not None:
        yield nothing
        return
    if not long:
        raise TooShort(f"needs {least} evaluations of an accuracy")
    # The accuracy of a batch of one or two is 0 or 1; where evaluations improve, nothing else matters.
    rose = any(_has_risen(track) for track in case.every("val.accuracy") if track in long)
    for track in long:
        if rose and track not in case.every("val.accuracy"):
            continue
        if (case.progress(track.last_step or 0) or 1.0) < case.limit(SLUG, "progress"):
            continue
        # A small language model early in training is at chance on common-sense benchmarks.
        benchmark = any(name in words_of(track.tag).rest for name in KNOWN_CHOICES)
        if (found := at_chance(case, track)) is not None:
            level, chance = found
            yield _finding(
                case,
                track,
                "info" if benchmark else "warning",
                f"{track.tag} is {number(level)} in the second half of the run; chance is {number(chance)}.",
                level,
            )
            return
        if case.finished and not benchmark and (same := _same_answer(case, track, evaluations=least + 1)) is not None:
            yield _finding(
                case,
                track,
                "warning",
                f"{track.tag} is {number(same)} to the last digit at all of the last evaluations: the model gives "
                "the same answer to everything.",
                same,
            )
            return
        # A number of choices that was guessed rules nothing out.
        if (
            benchmark
            or choices(case).confidence > _SURE
            or may_rise(case)
            or _is_regression(case)
            or nearly_perfect(case)
        ):
            continue
        if track.finite_count < case.limit(SLUG, "alone") and _training_rises(case, track):
            continue
        if (low := never_improved(track, evaluations=least)) is not None and not _rose_before(case, track, low):
            yield _finding(
                case,
                track,
                # A score of 0 throughout, next to a loss that falls, is not computed.
                "info" if track.high == 0 and learning(case).value else "warning",
                f"{track.tag} is {number(low)} and has not improved in {count(track.finite_count, 'evaluation')}.",
                low,
            )
            return


def _is_regression(case: Case) -> bool:
    """Whether distances are logged: then the share of exactly right numbers means nothing."""
    tags = [tag for role in ("train.error", "val.error") for tag in case.reading.tags.get(role, ())]
    return any(words_of(tag).rest & _DISTANCES for tag in tags)


def _has_risen(track: Track) -> bool:
    values = track.points(most=256).values * scale_of(track)
    return float(np.median(values[-3:]) - np.median(values[:2])) > _RISEN


def _training_rises(case: Case, track: Track) -> bool:
    """Whether the same score rises on training data: with few evaluations, held-out data may follow later."""
    twin = case.reading.twins.get(track.tag)
    return twin is not None and _has_risen(case.tracks[twin])


def _rose_before(case: Case, track: Track, level: float) -> bool:
    """Whether training accuracy rose to that level from well below it: the model learned before it was evaluated."""
    twin = case.reading.twins.get(track.tag)
    if twin is None or case.tracks[twin].finite_count < 4 * _FIRST_POINTS:
        return False
    values = case.tracks[twin].points(most=256).values * scale_of(case.tracks[twin])
    first, later = float(np.median(values[:_FIRST_POINTS])), float(np.median(values[len(values) // 2 :]))
    return level > (1 + _WELL_ABOVE) * first and later > (1 + _WELL_ABOVE) * first and level > later - _CLOSE


def _at_nothing(case: Case) -> Finding | None:
    """A score that is 0 for a model that finds nothing, such as an average precision, and never left 0."""
    least = int(case.patient(case.limit(SLUG, "finds_nothing_for")))
    scores = [
        track
        for track in case.every("val.accuracy")
        if is_from_zero(track.tag) and track.finite_count >= least and track.low >= 0
    ]
    limit = case.limit(SLUG, "finds_nothing")
    if not scores or not case.finished or any(_best_of_second_half(track) > limit for track in scores):
        return None
    track, best = scores[0], _best_of_second_half(scores[0])
    return _finding(
        case,
        track,
        "warning",
        f"{track.tag} is {number(best)} at its best in the second half of {count(track.finite_count, 'evaluation')}: "
        "the model finds next to nothing.",
        best,
    )


def _all_wrong(case: Case) -> Finding | None:
    """An error rate of recognized words or characters that is 100 % at every evaluation."""
    least = (
        int(case.limit(SLUG, "evaluations")) + 1 if _training_stands(case) else case.limit(SLUG, "finds_nothing_for")
    )
    for track in case.every("val.error"):
        values = track.points(most=256).values
        if not words_of(track.tag).rest & RECOGNITION or len(values) < least or not case.finished:
            continue
        lowest = float(values.min()) * (0.01 if track.low > _IN_PERCENT else 1.0)
        if lowest >= _ALL_WRONG:
            return _finding(
                case,
                track,
                "warning",
                f"{track.tag} was never below {number(float(values.min()))} in {count(len(values), 'evaluation')}: the "
                "model recognizes nothing.",
                float(values.min()),
            )
    return None


def _training_stands(case: Case) -> bool:
    """Whether the training loss has not fallen in the second half of the run."""
    curve = objective(case).value
    if curve is None or len(curve.points.values) < _LEAST_TO_STAND:
        return False
    *_, third, last = (float(np.median(part)) for part in np.array_split(curve.points.values, 4))
    return abs(third - last) < _STANDS * abs(third)


def _best_of_second_half(track: Track) -> float:
    values = track.points(most=256).values * scale_of(track)
    return float(values[len(values) // 2 :].max())


def _same_answer(case: Case, track: Track, *, evaluations: int) -> float | None:
    """A low accuracy that is the same to the last digit from some evaluation to the end, for at least half of them."""
    values = track.points(most=256).values
    loss = case.one("train.loss")
    if loss is not None and loss.finite_count < len(loss):  # a model of NaNs has one answer, and a finding of its own
        return None
    changes = np.flatnonzero(np.diff(values) != 0)
    same = len(values) - 1 - int(changes[-1]) if len(changes) else 0
    level = float(values[-1]) * scale_of(track)
    return level if same >= evaluations and 2 * same >= len(values) and 0 < level < _WRONG else None


def _finding(case: Case, track: Track, severity: Severity, summary: str, level: float) -> Finding:
    return case.finding(
        SLUG,
        severity,
        track,
        summary,
        evidence=[Evidence(track.tag, "median accuracy", level, None, track.last_step)],
    )
