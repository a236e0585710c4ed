"""Loss too good: the loss is lower, or falls faster, than real learning allows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.perplexity import predicts_words
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.stats.noise import running_median


@detector(id="loss-too-good", reads="train.loss")
def loss_too_good(case: Case) -> Iterator[Finding]:
    """Almost zero early in the run; or, for language, lower than real text allows."""
    loss = case.need("train.loss", points=20)
    steps, values = loss.points(most=1024)
    start = float(np.median(values[:3]))
    zeros = loss.longest_streak
    # A loss of exactly 0 has its own finding.
    if start <= 0 or (zeros is not None and zeros.value == 0.0 and zeros.length >= 5):
        return
    level = running_median(values, 5)
    share, part = case.limit("loss-too-good", "share_of_start"), case.limit("loss-too-good", "share_of_run")
    early = max(5, int(part * len(values)))
    if (level[:early] < share * start).any() and _guess_at_start(case, start):
        at = int(np.argmax(level[:early] < share * start))
        yield _finding(case, loss.tag, int(steps[at]), float(level[at]), share * start, "too low this early in the run")
        return
    floor = case.limit("loss-too-good", "language_floor")
    choices = case.context.choices
    if choices is not None and choices >= case.limit("loss-too-good", "language_choices"):
        low = np.flatnonzero(level < floor)
        if len(low) >= max(3, 0.1 * len(level)):
            yield _finding(case, loss.tag, int(steps[low[0]]), float(level[-1]), floor, "lower than real text allows")
            return
    if predicts_words(case).value is True and float(level[-1]) < floor:
        yield from _known_in_advance(case, floor)


def _known_in_advance(case: Case, floor: float) -> Iterator[Finding]:
    """Words of held-out text that are predicted almost without fail: the input contains them."""
    for track in case.every("val.loss")[:1]:
        at, losses = track.points(most=256)
        low = np.flatnonzero(losses < floor)
        if len(losses) >= 3 and len(low) and float(losses[-3:].max()) < floor:
            yield _finding(case, track.tag, int(at[low[0]]), float(losses[-1]), floor, "lower than real text allows")


def _guess_at_start(case: Case, start: float) -> bool:
    """Whether the loss started at random guessing. Only then is a very fast fall suspicious."""
    guess = case.context.guess_loss
    return guess is not None and start > 0.7 * guess


def _finding(case: Case, tag: str, step: int, value: float, limit: float, why: str) -> Finding:
    return case.finding(
        "loss-too-good",
        "warning",
        tag,
        f"{tag} is {number(value)} from step {step:,}, {why}.",
        first_step=step,
        evidence=[Evidence(tag, "level", value, limit, step, on_curve=True)],
    )
