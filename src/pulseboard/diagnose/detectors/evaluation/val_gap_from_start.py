"""Validation gap from the start: training improves, but validation never did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.clock import steps_on_clock
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.facts.scores import accuracy_gap, is_accuracy, scale_of, validation_scores
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.stats.course import Course, course
from pulseboard.diagnose.track import Floats, Track

SLUG = "val-gap-from-start"
_ROSE = 0.15  # of all answers
_MOSTLY_WRONG = 0.5
_STILL_SCORE = 0.03  # of all answers
_BEYOND_DOUBT = 12.0  # standard errors
# Accuracies on two splits that are close, and the part of a rise that is good.
_CLOSE, _GOOD_PART = 0.1, 0.3


@dataclass(frozen=True, slots=True)
class _Gap:
    track: Track
    twin: Track
    first: float  # the first validation loss
    best: float  # the lowest one
    training: float  # the training loss at that time
    start: float  # of the training loss
    followed: float  # share of the training gain that validation made too
    step: int


@detector(id=SLUG, reads=("train.loss|loss.components|train.accuracy", "val.loss|val.accuracy"))
def val_gap_from_start(case: Case) -> Iterator[Finding]:
    """Only for the same quantity on two splits. All sets must show the gap, since one may be harder."""
    if not case.every("val.loss"):
        yield from _gap_of_scores(case)
        return
    pairs = [
        (track, case.tracks[twin])
        for track in case.every("val.loss")
        if (twin := case.reading.twins.get(track.tag)) is not None and track.tag not in case.reading.maximized
    ]
    judged = [(track, twin) for track, twin in pairs if track.finite_count >= 3 and twin.finite_count >= 8]
    if not judged:
        raise TooShort("needs 3 evaluations and 8 points of the same loss on training data")
    gaps = [gap for track, twin in judged if (gap := _gap(case, track, twin)) is not None]
    if not gaps or len(gaps) < len(judged):
        return
    gap = min(gaps, key=lambda gap: gap.followed)
    if _scores_follow(case) and not _by_heart(case, gap) and not all(_stands_still(case, gap) for gap in gaps):
        return
    limit = case.limit(SLUG, "followed")
    yield case.finding(
        SLUG,
        "warning",
        gap.track,
        f"{gap.track.tag} started at {number(gap.first)} and never fell below {number(gap.best)}, while "
        f"{gap.twin.tag} fell from {number(gap.start)} to {number(gap.training)}.",
        first_step=gap.step,
        evidence=[Evidence(gap.track.tag, "validation gain relative to training gain", gap.followed, limit, gap.step)],
    )


def _gap_of_scores(case: Case) -> Iterator[Finding]:
    """Without a validation loss: training accuracy rises, and validation accuracy does not follow at all."""
    pairs = [
        (case.tracks[tag], case.tracks[twin])
        for tag, twin in case.reading.twins.items()
        if is_accuracy(tag) and case.tracks[tag].finite_count >= 5 and case.tracks[twin].finite_count >= 5
    ]
    if not pairs:
        raise TooShort("needs 5 evaluations of an accuracy that is measured on training data too")
    limit = case.limit(SLUG, "followed")
    for track, twin in pairs:
        values, training = (one.points(most=256).values * scale_of(one) for one in (track, twin))
        edge = max(1, len(training) // 10)
        rose = float(np.median(training[-edge:]) - np.median(training[:edge]))
        # The level of its last half against its first evaluation: the best of many is always a little better.
        followed = float(np.median(values[len(values) // 2 :]) - values[0]) / max(rose, 1e-300)
        apart = float(np.median(training[-edge:]) - np.median(values[-max(2, len(values) // 4) :]))
        if rose < _ROSE or followed >= limit or apart < _ROSE or may_rise(case):
            continue
        yield case.finding(
            SLUG,
            "warning",
            track,
            f"{twin.tag} rose by {percent(rose)} while {track.tag} went from {percent(float(values[0]))} to "
            f"{percent(float(values[-1]))}: validation does not follow.",
            evidence=[Evidence(track.tag, "validation gain relative to training gain", followed, limit)],
        )
        return


def _scores_follow(case: Case) -> bool:
    """Whether validation scores improve. Then validation does follow, whatever its loss says."""
    apart = accuracy_gap(case)
    if apart is not None:
        return apart < case.limit(SLUG, "apart") and (apart < _CLOSE or _accuracy_follows(case))
    return any(
        score.course.gain > 4 * score.course.error
        and score.course.gain * scale_of(case.tracks[score.tag]) > case.limit(SLUG, "score_gain")
        for score in validation_scores(case)
    )


def _accuracy_follows(case: Case) -> bool:
    """Whether a validation accuracy has followed much of the rise of training accuracy."""
    for tag, twin in case.reading.twins.items():
        if is_accuracy(tag) and min(case.tracks[tag].finite_count, case.tracks[twin].finite_count) >= 5:
            rises = []
            for track in (case.tracks[tag], case.tracks[twin]):
                values = track.points(most=256).values * scale_of(track)
                rises.append(float(np.median(values[-3:]) - values[0]))
            return rises[0] >= _GOOD_PART * rises[1]
    return True


def _stands_still(case: Case, gap: _Gap) -> bool:
    """Whether no evaluation differs from the others, by the loss or by an accuracy, while training learns."""
    values = gap.track.points(most=256).values
    scores = [track for track in case.every("val.accuracy") if is_accuracy(track.tag) and track.finite_count >= 5]
    moved = [float(np.ptp(track.points(most=256).values)) * scale_of(track) for track in scores]
    still = float(np.ptp(values)) < case.limit(SLUG, "still") * (gap.start - gap.training)
    return still and len(values) >= case.limit(SLUG, "evaluations") and all(one < _STILL_SCORE for one in moved)


def _by_heart(case: Case, gap: _Gap) -> bool:
    """Whether almost nothing is left of the training loss, but most answers on held-out data are still wrong."""
    low = [track for track in case.every("val.accuracy") if is_accuracy(track.tag) and track.finite_count >= 5]
    wrong = bool(low) and all(float(np.median(t.tail.values[-3:])) * scale_of(t) < _MOSTLY_WRONG for t in low)
    return wrong and gap.training < case.limit(SLUG, "by_heart") * gap.start


def _same_start(case: Case, training: Course, losses: Floats) -> bool:
    """Whether a small gain of training counts: it is beyond doubt, and validation stays where training began."""
    gain = training.gain
    sure = gain >= case.limit(SLUG, "small_gain") * training.start and gain >= _BEYOND_DOUBT * training.error
    stays = float(np.abs(losses - losses[0]).max()) < case.limit(SLUG, "still") * gain
    near = abs(float(losses[0]) - training.start) < gain / 2
    return sure and near and stays and len(losses) >= case.limit(SLUG, "evaluations")


def _gap(case: Case, track: Track, twin: Track) -> _Gap | None:
    """The gap of one pair, if training clearly improved and validation did not."""
    steps, values = twin.points(most=512)
    gained = course(twin.points(most=512))
    losses = track.points(most=256).values
    if gained is None or gained.start <= 0 or gained.gain < 4 * gained.error:
        return None
    if gained.gain < case.limit(SLUG, "gain") * abs(gained.start) and not _same_start(case, gained, losses):
        return None
    at = steps_on_clock(track, twin)[: len(losses)]
    best = int(np.argmin(losses))
    training = float(np.interp(at[best], steps, values)) if len(at) > best else gained.end
    end = min(training, gained.end)
    followed = (gained.start - float(losses[best])) / max(gained.start - end, 1e-300)
    improved = float(losses[0] - losses[best]) / max(abs(float(losses[0])), 1e-300)
    if followed >= case.limit(SLUG, "followed") or improved >= case.limit(SLUG, "improved"):
        return None
    first, lowest = float(losses[0]), float(losses[best])
    return _Gap(track, twin, first, lowest, end, gained.start, followed, int(track.points().steps[0]))
