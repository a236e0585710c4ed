"""Initial loss off: the first loss is far above that of random guessing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector


@detector(id="initial-loss-off", reads="train.loss", needs=("choices|val.loss",))
def initial_loss_off(case: Case) -> Iterator[Finding]:
    """Checks the first point, if it was logged within the first steps."""
    loss = case.need("train.loss")
    guess = case.context.guess_loss
    if guess is None:
        yield from _compared_with_validation(case)
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
        f"{loss.tag} starts at {values[0]:.4g}; for an untrained model it should be about {guess:.4g}.",
        first_step=int(steps[0]),
        last_step=int(steps[0]),
        evidence=[Evidence(loss.tag, "first value", float(values[0]), limit, int(steps[0]))],
    )


def _compared_with_validation(case: Case) -> Iterator[Finding]:
    """If the loss of random guessing is unknown: training and validation start equal, unless one is a sum.

    The ratio must persist. With a regularizer or a missing weight it changes as the model learns; with a sum instead of
    a mean it does not.
    """
    train, val = case.need("train.loss"), case.need("val.loss", points=3)
    first_steps = case.limit("initial-loss-off", "first_steps")
    at, losses = val.points(most=256)
    steps, values = train.points(most=512)
    if train.head.steps[0] > first_steps or at[0] > first_steps:
        raise TooShort(f"{train.tag!r} and {val.tag!r} both need a point in the first {first_steps:.0f} steps")
    first, other = float(train.head.values[0]), float(losses[0])
    after = values[steps >= at[len(at) // 2]]
    if not len(after):
        raise TooShort(f"{train.tag!r} ends before half of {val.tag!r}")
    later = float(np.median(after)), float(np.median(losses[len(at) // 2 :]))
    times = case.limit("initial-loss-off", "times_validation")
    if not min(other, later[1]) > 0 or not first > times * other or not later[0] / later[1] > first / other / 2:
        return
    yield case.finding(
        "initial-loss-off",
        "warning",
        train,
        f"{train.tag} starts at {first:.4g} while {val.tag} of the same untrained model is {other:.4g}, and it stays "
        f"about {later[0] / later[1]:.3g}x larger: probably a sum instead of a mean.",
        first_step=int(train.head.steps[0]),
        last_step=int(train.head.steps[0]),
        evidence=[Evidence(train.tag, f"first value relative to {val.tag}", first / other, times, int(at[0]))],
    )
