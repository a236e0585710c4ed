"""Signs that compare accuracies with each other and with the loss: random guessing, and which split does better."""

from __future__ import annotations

import math

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.objective import objective
from pulseboard.diagnose.facts.scores import accuracies, contradiction, scale_of
from pulseboard.diagnose.facts.signs.sign import sign
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Floats, Track


def _accuracy(case: Case, role: str, *, points: int = 3) -> Floats | None:
    """The accuracy of training or validation, between 0 and 1."""
    of_role = case.every(role)
    track: Track | None = next((one for one in accuracies(case) if one in of_role), None)
    if track is None or track.finite_count < points:
        return None
    return track.points(most=256).values * scale_of(track)


def _end(values: Floats) -> float:
    return float(np.median(values[-3:]))


def _guess(accuracy: float) -> float:
    """The cross-entropy of answers that are right this often, and exactly that confident."""
    return -math.log(min(1.0, max(accuracy, 1e-3)))


@sign("sure-and-wrong-first", "the first training loss is far above what its accuracy explains")
def sure_and_wrong_first(case: Case) -> bool | None:
    """A model that has learned nothing and is sure of its answers: its weights are too large from the start."""
    curve, accuracy = objective(case).value, _accuracy(case, "train.accuracy")
    if curve is None or accuracy is None or len(curve.points.values) < 3:
        return None
    return float(curve.points.values[0]) > 2 * _guess(float(accuracy[0])) + 0.7


@sign("loss-beyond-accuracy", "the training loss ends far above what its accuracy explains")
def loss_beyond_accuracy(case: Case) -> bool | None:
    """The loss is multiplied by something, or the scores are huge."""
    curve, accuracy = objective(case).value, _accuracy(case, "train.accuracy")
    if curve is None or accuracy is None or len(curve.points.values) < 3:
        return None
    return _end(curve.points.values) > 6 * (_guess(_end(accuracy)) + 0.2)


@sign("val-sure-and-wrong", "the validation loss ends far above what its accuracy explains")
def val_sure_and_wrong(case: Case) -> bool | None:
    curves, accuracy = validation_curves(case, points=3), _accuracy(case, "val.accuracy")
    if not curves or accuracy is None:
        return None
    return _end(curves[0].points.values) > 2 * _guess(_end(accuracy)) + 0.7


@sign("only-training-scores", "the training accuracy rose by 15 points or more, the validation accuracy by none")
def only_training_scores(case: Case) -> bool | None:
    train, val = _accuracy(case, "train.accuracy"), _accuracy(case, "val.accuracy")
    if train is None or val is None:
        return None
    return _end(train) - float(train[0]) > 0.15 and float(val.max()) - float(val[0]) < 0.05


def training_scores_rose(case: Case) -> bool:
    """Whether the training accuracy clearly rose from the first points to the last third."""
    values = _accuracy(case, "train.accuracy", points=6)
    if values is None:
        return False
    first = values[: max(2, len(values) // 12)]
    error = 1.5 * noise_scale(values) / math.sqrt(len(first))
    return float(np.median(values[-len(values) // 3 :])) - float(np.median(first)) > max(0.1, 3 * error)


@sign("val-scores-higher", "the validation accuracy ends 5 points above the training accuracy")
def val_scores_higher(case: Case) -> bool | None:
    train, val = _accuracy(case, "train.accuracy"), _accuracy(case, "val.accuracy")
    return None if train is None or val is None else _end(val) > _end(train) + 0.05


@sign("scores-contradict", "the accuracy is 1 while another score is 0", apart=True)
def scores_contradict(case: Case) -> bool | None:
    return True if contradiction(case) else None
