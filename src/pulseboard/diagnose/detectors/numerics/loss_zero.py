"""Loss zero: the loss is exactly 0 at several points."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.track import Track

# Decimals that a printed value has, and how small the last values before the zeros are in units of the last one.
_MARGINS = frozenset("triplet hinge margin contrastive ranking".split())
# Shorter rows of zeros before the longest one, and how small the last other values are, of the first ones.
_ZEROS_BEFORE, _LAST, _SMALL = 3, 8, 0.1
_DECIMALS, _NEXT_TO_NOTHING = 5, 20


@detector(id="loss-zero", reads="train.loss")
def loss_zero(case: Case) -> Iterator[Finding]:
    """Several points in a row are exactly 0 while gradients are finite."""
    loss = case.need("train.loss")
    zeros, least = loss.longest_streak, case.limit("loss-zero", "in_a_row")
    gradient = case.one("gradient.norm")
    if (
        zeros is None
        or zeros.value != 0.0
        or zeros.length < min(least, max(3, len(loss)))
        or (gradient is not None and gradient.not_finite)
        or (zeros.first_step == loss.first_step and zeros.length < len(loss))  # training began later
        or _rounded_away(loss)
        or _has_a_margin(loss)
    ):
        return
    yield case.finding(
        "loss-zero",
        "critical",
        loss,
        f"{loss.tag} is exactly 0 for {zeros.length} points in a row, from step {zeros.first_step:,}.",
        first_step=zeros.first_step,
        last_step=zeros.last_step,
        evidence=[Evidence(loss.tag, "points in a row that are exactly 0", zeros.length, least, zeros.first_step)],
    )


def _has_a_margin(loss: Track) -> bool:
    """Whether it is a loss with a margin, by its name or because single zeros came before many."""
    if words_of(loss.tag).rest & _MARGINS:
        return True
    values = loss.points().values
    zero = values == 0
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[False], zero, [False]]).astype(np.int8))))[::2]
    longest = int(np.argmax(runs)) if len(runs) else 0
    before = values[: int(np.flatnonzero(zero)[0])] if zero.any() else values
    small = values[(values != 0)][-_LAST:]
    came_down = len(before) >= 3 and len(small) > 0 and float(np.median(small)) < _SMALL * float(np.median(before[:3]))
    return longest >= _ZEROS_BEFORE and came_down


def _rounded_away(loss: Track) -> bool:
    """Whether a loss printed with a few decimals came down to its last one before it was 0: it is small, not lost."""
    values = loss.points().values
    some = values[values != 0]
    first = int(np.argmax(values == 0))
    if not len(some) or first == 0:
        return False
    decimals = next(
        (d for d in range(1, _DECIMALS + 1) if np.allclose(values, np.round(values, d), rtol=1e-6, atol=1e-12)), None
    )
    return decimals is not None and abs(float(values[first - 1])) <= _NEXT_TO_NOTHING * 10.0**-decimals
