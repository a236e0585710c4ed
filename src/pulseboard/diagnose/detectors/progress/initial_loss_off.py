"""Initial loss off: the first loss is far above that of random guessing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.learning import learning
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.perplexity import predicts_words
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.facts.scores import accuracies, scale_of
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.phrases import times as multiple
from pulseboard.diagnose.track import Track

SLUG = "initial-loss-off"
_LEARNED = 0.15  # of all answers


@detector(id=SLUG, reads="train.loss", needs=("choices|val.loss|train.accuracy|val.accuracy",))
def initial_loss_off(case: Case) -> Iterator[Finding]:
    """Checks the first point, if it was logged within the first steps."""
    loss = case.need("train.loss")
    guess = case.context.guess_loss
    if guess is None:
        beyond = _beyond_any_vocabulary(case)
        if beyond is not None:
            yield beyond
        elif case.one("val.loss") is not None:
            yield from _compared_with_validation(case)
        return
    steps, values = loss.head
    if steps[0] > case.limit(SLUG, "first_steps"):
        return
    limit = case.limit(SLUG, "times_guess") * guess
    if not values[0] > limit:
        return
    yield case.finding(
        SLUG,
        "warning",
        loss,
        f"{loss.tag} starts at {number(float(values[0]))}; for an untrained model it should be about {number(guess)}.",
        first_step=int(steps[0]),
        last_step=int(steps[0]),
        evidence=[Evidence(loss.tag, "first value", float(values[0]), limit, int(steps[0]), on_curve=True)],
    )


def _beyond_any_vocabulary(case: Case) -> Finding | None:
    """A classifier's loss that begins above the logarithm of any number of classes, and later is below it."""
    curve, found = objective(case).value, loss_course(case).value
    limit = case.limit(SLUG, "any_guess")
    # A detector's loss is a sum of many, and a model that has learned since has recovered from its start.
    words = predicts_words(case).value is True
    scored = (bool(accuracies(case)) or words) and not case.every("loss.components")
    learned = any(_has_learned(track) for track in accuracies(case))
    if learned or curve is None or curve.track is None or found is None or not scored or may_rise(case):
        return None
    # A sum over the batch stays large, so the end must be that of a mean.
    first = float(curve.points.values[0])
    mean = found.end < 0.5 * limit and first >= case.limit(SLUG, "times_end") * found.end
    if not first > limit or not (mean or words):
        return None
    step = int(curve.points.steps[0])
    return case.finding(
        SLUG,
        "warning",
        curve.tag,
        f"{curve} starts at {number(first)}; random guessing among {math.exp(limit):,.0f} classes gives "
        f"{number(limit)}.",
        first_step=step,
        last_step=step,
        evidence=[Evidence(curve.tag, "first value", first, limit, step, on_curve=True)],
    )


def _has_learned(track: Track) -> bool:
    values = track.points(most=256).values * scale_of(track)
    return len(values) >= 2 and float(np.median(values[-3:]) - values[0]) > _LEARNED


def _compared_with_validation(case: Case) -> Iterator[Finding]:
    """If the loss of random guessing is unknown: training and validation start equal, unless one is a sum.

    The ratio must persist. With a regularizer or a missing weight it changes as the model learns; with a sum instead of
    a mean it does not.
    """
    train, val = case.need("train.loss"), case.need("val.loss", points=3)
    first_steps = case.limit(SLUG, "first_steps")
    at, losses = val.points(most=256)
    steps, values = train.points(most=512)
    if train.head.steps[0] > first_steps or at[0] > first_steps:
        raise TooShort(f"{train.tag!r} and {val.tag!r} both need a point in the first {first_steps:.0f} steps")
    first, other = float(train.head.values[0]), float(losses[0])
    after = values[steps >= at[len(at) // 2]]
    if not len(after):
        raise TooShort(f"{train.tag!r} ends before half of {val.tag!r}")
    later = float(np.median(after)), float(np.median(losses[len(at) // 2 :]))
    times = case.limit(SLUG, "times_validation")
    if not min(other, later[1]) > 0 or not first > times * other or not later[0] / later[1] > first / other / 2:
        return
    # A sum of the losses of all batches that is only logged does no harm.
    yield case.finding(
        SLUG,
        "info" if learning(case).value else "warning",
        train,
        f"{train.tag} starts at {number(first)} while {val.tag} of the same untrained model is {number(other)}, and it "
        f"stays about {multiple(later[0] / later[1])} larger: probably a sum instead of a mean.",
        first_step=int(train.head.steps[0]),
        last_step=int(train.head.steps[0]),
        evidence=[Evidence(train.tag, f"first value relative to {val.tag}", first / other, times, int(at[0]))],
    )
