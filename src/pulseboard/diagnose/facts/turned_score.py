"""Turned score: a score or an error on held-out data that was clearly better before than it is now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.fact import Fact, fact
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.facts.scores import scale_of, validation_scores
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.quote import Quote, quote
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.stats.course import Course, course
from pulseboard.diagnose.track import Floats, Points, Track

_EVALUATIONS = 12
_HALVES = frozenset("precision prec recall sensitivity specificity".split())
_SURE = 8.0  # standard errors
# Of the best score, and of what it had gained.
_LOST, _LOST_OF_GAIN = 0.2, 0.3
# An error may be small at its best: it must double, and lose as much of its way in logarithms.
_DOUBLED, _LOST_OF_WAY = 1.0, 0.3
# Evaluations of which the first two are the best of all, and how far below them nearly all of the later ones are.
_MANY, _BELOW, _NEARLY_ALL = 24, 0.9, 0.95
# A score that was this good at first, and what is left of it in the second half: its median, and its best.
_GOOD, _LEFT, _BEST_LEFT = 0.5, 0.6, 0.8


@dataclass(frozen=True, slots=True)
class TurnedScore:
    """The score, and its values as logged: `sign` is -1 for a score, which should rise, and 1 for an error."""

    tag: str
    said: Quote
    sign: int
    lost: float  # of its best

    @property
    def best(self) -> str:
        """The best value in words."""
        return self.said.text(self.sign * self.said.best)

    @property
    def end(self) -> str:
        """The last value in words."""
        return self.said.text(self.sign * self.said.end)


@fact("turned-score")
def turned_score(case: Case) -> Fact[TurnedScore]:
    """The first score that turned; without a validation loss, errors count too."""
    if may_rise(case):  # what one network scores, the other tries to bring down
        return Fact(None, why="the curves of networks that compete go up and down")
    scores = validation_scores(case)
    # Precision and recall trade off against each other, and one of several scores may depend on thresholds.
    whole = [score for score in scores if not words_of(score.tag).rest & _HALVES] or scores
    if any(score.holds and score.course.gain > 4 * score.course.error for score in whole):
        return Fact(None, why="a score holds its best")
    for score in whole:
        track = case.tracks[score.tag]
        points = _points(track, -1)
        if _came_down(score.course) or _only_falls(track):
            return _fact(track, points, score.course, -1)
    if not validation_curves(case, points=_EVALUATIONS):
        for track in (*case.every("val.error"), *_errors_apart(case)):
            found = course(_points(track, 1))
            if found is not None and track.low > 0 and _went_up(found):
                return _fact(track, _points(track, 1), found, 1)
    return Fact(None, why="no score has clearly turned")


def _points(track: Track, sign: int) -> Points:
    steps, values = track.points(most=256)
    return Points(steps, sign * values)


def _fact(track: Track, points: Points, found: Course, sign: int) -> Fact[TurnedScore]:
    lost = found.rise / abs(found.best) if found.best else 0.0
    return Fact(TurnedScore(track.tag, quote(points, found), sign, lost), 0.85, (track.tag,), "it was clearly better")


def _errors_apart(case: Case) -> list[Track]:
    """Errors without a split in their name, next to a loss: they measure the result, not the batch."""
    return [track for track in case.every("train.error") if track.tag not in case.reading.twins.values()]


def _came_down(c: Course) -> bool:
    """A score that had learned something first: that of an untrained model may be high by accident."""
    if c.points < _EVALUATIONS or c.gain <= 4 * c.error or c.best_at < 0.1 * c.points:
        return False
    if c.rise < _LOST * abs(c.best) or c.lost_share < _LOST_OF_GAIN:
        return False
    return c.surprise >= _SURE and c.stays_up >= 0.5 * c.rise and c.rise >= 3 * c.noise


def _went_up(c: Course) -> bool:
    if c.points < _EVALUATIONS or c.gain <= 4 * c.error or c.best_at < 0.1 * c.points:
        return False
    if c.rise_share < _DOUBLED or c.lost_log_share < _LOST_OF_WAY:
        return False
    return c.surprise >= _SURE and c.stays_up >= 0.5 * c.rise and c.rise >= 3 * c.noise


def _only_falls(track: Track) -> bool:
    """A score that was good at the first two evaluations and is far below that for all of the second half."""
    values = track.points(most=256).values * scale_of(track)
    if len(values) < _EVALUATIONS or not 0 < float(values[0]) <= 1.0:
        return False
    if _never_back(values):
        return True
    if (
        float(values[0]) < _GOOD or values[1] < _BEST_LEFT * values[0]
    ):  # that of an untrained model was high by accident
        return False
    later = values[len(values) // 2 :]
    return float(np.median(later)) < _LEFT * float(values[0]) and float(later.max()) < _BEST_LEFT * float(values[0])


def _never_back(values: Floats) -> bool:
    """Whether nearly all of many evaluations are clearly worse than both of the first two."""
    if len(values) < _MANY:
        return False
    return float((values[3:] < _BELOW * float(values[:2].min())).mean()) >= _NEARLY_ALL
