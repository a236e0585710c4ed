"""Initial loss off: the first loss is far above that of a guess."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector


@detector(id="initial-loss-off", reads="train.loss", needs=("choices|val.loss",))
def initial_loss_off(case: Case) -> Iterator[Finding]:
    """The first point, where it was logged in the first steps."""
    loss = case.need("train.loss")
    guess = case.context.guess_loss
    if guess is None:
        yield from _beside_validation(case)
        return
    steps, values = loss.head
    if steps[0] > case.limit("initial-loss-off", "first_steps"):
        return
    limit = case.limit("initial-loss-off", "times_guess") * guess
    if not values[0] > limit:
        return
    yield case.finding(
        "initial-loss-off",
        "warning",
        loss,
        f"{loss.tag} begins at {values[0]:.4g}; before anything is learned it should be near {guess:.4g}.",
        first_step=int(steps[0]),
        last_step=int(steps[0]),
        evidence=[Evidence(loss.tag, "first value", float(values[0]), limit, int(steps[0]))],
    )


def _beside_validation(case: Case) -> Iterator[Finding]:
    """Where nobody knows the loss of a guess: training and validation begin alike, unless one is a sum of the other.

    The factor must stay: a regulariser or a lost weight makes one that changes as the model learns, a sum in the place
    of a mean does not.
    """
    train, val = case.need("train.loss"), case.need("val.loss", points=3)
    first_steps = case.limit("initial-loss-off", "first_steps")
    at, losses = val.points(most=256)
    steps, values = train.points(most=512)
    if train.head.steps[0] > first_steps or at[0] > first_steps:
        raise TooShort(f"{train.tag!r} and {val.tag!r} both need a point in the first {first_steps:.0f} steps")
    first, beside = float(train.head.values[0]), float(losses[0])
    after = values[steps >= at[len(at) // 2]]
    if not len(after):
        raise TooShort(f"{train.tag!r} ends before {val.tag!r} is half through")
    later = float(np.median(after)), float(np.median(losses[len(at) // 2 :]))
    times = case.limit("initial-loss-off", "times_validation")
    if not min(beside, later[1]) > 0 or not first > times * beside or not later[0] / later[1] > first / beside / 2:
        return
    yield case.finding(
        "initial-loss-off",
        "warning",
        train,
        f"{train.tag} begins at {first:.4g} where {val.tag} of the same untrained model is {beside:.4g}, and stays "
        f"about {later[0] / later[1]:.3g} times as large: a sum in the place of a mean.",
        first_step=int(train.head.steps[0]),
        last_step=int(train.head.steps[0]),
        evidence=[Evidence(train.tag, f"first value, over that of {val.tag}", first / beside, times, int(at[0]))],
    )
