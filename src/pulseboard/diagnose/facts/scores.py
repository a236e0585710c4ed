"""Scores: whether accuracy and its like rise, hold or fall, and what chance would give."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.fact import Fact, fact
from pulseboard.diagnose.facts.objective import objective
from pulseboard.diagnose.roles.quantity import quantity_of
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.stats.course import Course, course
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Floats, Points, Track

# How near exp(first loss) must be to a whole number of choices.
_NEAR = 0.06
_MOST_CHOICES = 2000
_EXACT = 0.01
_TOO_NOISY = 0.12
_ACCURACY = frozenset({"acc", "accuracy", "top1"})
KNOWN_CHOICES = {"hellaswag": 4}
AREAS = frozenset({"auc", "auroc", "rocauc"})
# Scores that are 0 for a model that finds nothing.
FROM_ZERO = frozenset({"map", "map50", "map75", "ap", "ap50", "ap75", "iou", "miou", "dice", "exactmatch"})
# Errors that are all there is, 1 or 100 %, for a model that recognizes nothing.
RECOGNITION = frozenset({"cer", "wer"})
# An accuracy that is higher than this may be good already, and then need not rise.
_LOW, _LOW_AND_CONSTANT = 0.65, 0.75
_RISE = 0.03
_FEW_EVALUATIONS, _PERFECT = 5, 0.95
# Scores of the positive class. With an accuracy of 1 they are 0 only if there is none.
_OF_POSITIVES = frozenset({"f1", "precision", "recall"})
_ALL_RIGHT = 0.999


@dataclass(frozen=True, slots=True)
class Score:
    """One score with its sign flipped, so that lower is better, and its course."""

    tag: str
    course: Course

    @property
    def holds(self) -> bool:
        """Whether it is still at its best, as far as the noise and a tenth of the gain allow."""
        c = self.course
        return c.rise <= max(0.1 * c.gain, 2 * c.error, 0.01 * abs(c.best))

    @property
    def falls(self) -> bool:
        """Whether it has clearly come down from its best."""
        c = self.course
        return c.surprise > 3 and c.rise > 0.15 * c.gain and c.rise > 0.02 * abs(c.best)


def score_of(track: Track) -> Score | None:
    """A score that should rise, as a curve that should fall."""
    steps, values = track.points(most=256)
    found = course(Points(steps, -values))
    return Score(track.tag, found) if found is not None else None


def validation_scores(case: Case) -> list[Score]:
    """The validation scores with enough points to be judged."""
    return [score for track in case.every("val.accuracy") if (score := score_of(track)) is not None]


def accuracy_gap(case: Case) -> float | None:
    """By how much training accuracy is above validation accuracy at the end; None if the two are not logged."""
    for tag, twin in case.reading.twins.items():
        track, other = case.tracks[tag], case.tracks[twin]
        if not is_accuracy(tag) or track.finite_count < 3 or other.finite_count < 3:
            continue
        ends = [float(np.median(one.tail.values[-3:])) * scale_of(one) for one in (other, track)]
        return ends[0] - ends[1]
    return None


@fact("choices")
def choices(case: Case) -> Fact[int]:
    """Among how many answers the model chooses: from the configuration, or from the first loss and accuracy."""
    if case.context.choices:
        return Fact(case.context.choices, 0.95, (), "the configuration")
    curve = objective(case).value
    if curve is None or curve.track is None or not len(curve.points.values):
        return Fact(None, why="the configuration does not say")
    first = float(curve.points.values[0])
    if not 0.6 < first < math.log(_MOST_CHOICES):
        return Fact(None, why="the first loss is not that of random guessing")
    if noise_scale(curve.points.values[:64]) > _TOO_NOISY * first:
        return Fact(None, why="the losses are too noisy for the first one to say anything")
    guess = round(math.exp(first))
    if guess < 2 or abs(first - math.log(guess)) > _NEAR * math.log(guess):
        return Fact(None, why="the first loss is not that of random guessing")
    # Any loss is near the logarithm of some number: an accuracy of one over it must agree.
    for track in accuracies(case):
        values = track.points(most=256).values * scale_of(track)
        if len(values) and abs(float(values[0]) - 1 / guess) < 0.35 / guess:
            among = _by_accuracy(values, first) or guess
            return Fact(among, 0.7, (curve.tag, track.tag), "the first loss and the first accuracy")
    return Fact(None, why="the first loss is not that of random guessing")


def _by_accuracy(values: Floats, loss: float) -> int | None:
    """The number of choices of which an accuracy is exactly one, if a loss is near its logarithm too.

    The first loss has noise, which makes 17 of 16 choices.
    """
    level = float(np.median(values[: max(1, len(values) // 4)]))
    among = round(1 / level) if level > 0 else 0
    exact = among >= 2 and abs(level * among - 1) < _EXACT
    return among if exact and abs(loss - math.log(among)) < _NEAR * math.log(among) else None


def is_accuracy(tag: str) -> bool:
    """Whether a score is the share of right answers. Among the first five is another matter."""
    if words_of(tag).is_bare_split:
        return True
    quantity = quantity_of(tag)
    plain = quantity.qualifiers if quantity is not None and quantity.kind == "score" else frozenset()
    return bool(plain & _ACCURACY) and "top5" not in plain


def is_from_zero(tag: str) -> bool:
    """Whether a score is 0 for a model that finds nothing."""
    quantity = quantity_of(tag)
    return bool((words_of(tag).rest | (quantity.qualifiers if quantity is not None else frozenset())) & FROM_ZERO)


def is_plain_accuracy(tag: str) -> bool:
    """Whether a score is the accuracy of the model, not that of one of its parts."""
    quantity = quantity_of(tag)
    if words_of(tag).is_bare_split:
        return True
    return quantity is not None and is_accuracy(tag) and quantity.qualifiers <= _ACCURACY


def accuracies(case: Case) -> list[Track]:
    """Validation and training accuracies; other scores have no known chance level."""
    tracks = [*case.every("val.accuracy"), *case.every("train.accuracy")]
    return [track for track in tracks if is_accuracy(track.tag)]


def scale_of(track: Track) -> float:
    """0.01 for an accuracy in percent, else 1."""
    return 0.01 if track.high > 1.5 else 1.0


def nearly_perfect(case: Case) -> bool:
    """Whether some accuracy on held-out data, a probe's too, is nearly 1 from the first evaluation to the last."""
    long = [track for track in accuracies(case) if track.finite_count >= _FEW_EVALUATIONS]
    return any(float(np.quantile(track.points(most=256).values, 0.1)) * scale_of(track) > _PERFECT for track in long)


def never_improved(track: Track, *, evaluations: int) -> float | None:
    """The level of an accuracy that is low and has not risen at any evaluation; None for any other."""
    steps, values = track.points(most=256)
    values = values * scale_of(track)
    if len(values) < evaluations or track.low < 0:
        return None
    found = course(Points(steps, -values))
    level = float(np.median(values))
    if found is None or level > (_LOW if np.ptp(values) > 0 else _LOW_AND_CONSTANT):
        return None
    rose = found.gain > max(_RISE, 3 * found.error) or found.start - found.end > _RISE
    # A first value far below the others: it rose before the second evaluation.
    fast = level - float(values[0]) > 2 * _RISE
    # One that was better before has fallen, which is another matter.
    fell = float(values[:3].max()) > level + 2 * _RISE
    return None if rose or fast or fell else level


def at_chance(case: Case, track: Track) -> tuple[float, float] | None:
    """(level in the second half, chance) if an accuracy never left chance; None if it did or if chance is unknown."""
    values = track.points(most=256).values * scale_of(track)
    rest = words_of(track.tag).rest
    # The area under a ROC curve is one half by chance, whatever the number of classes.
    known = 2 if rest & AREAS else next((n for name, n in KNOWN_CHOICES.items() if name in rest), None)
    among = known or choices(case).value
    if not among or not 2 <= among <= 10_000 or len(values) < 4:
        return None
    level, chance = float(np.median(values[len(values) // 2 :])), 1.0 / among
    slack = max(0.15 * chance, 2.5 * math.sqrt(chance * (1 - chance) / 2000))
    return (level, chance) if level <= chance + slack else None


def contradiction(case: Case) -> tuple[Track, Track] | None:
    """An accuracy of 1 and a score of the positive class of 0, at every evaluation of the same split."""
    for role in ("val.accuracy", "train.accuracy"):
        tracks = [track for track in case.every(role) if track.finite_count >= 3]
        perfect = [one for one in tracks if is_plain_accuracy(one.tag) and one.low * scale_of(one) > _ALL_RIGHT]
        zero = [one for one in tracks if words_of(one.tag).rest & _OF_POSITIVES and one.low == one.high == 0]
        if perfect and zero:
            return perfect[0], zero[0]
    return None
