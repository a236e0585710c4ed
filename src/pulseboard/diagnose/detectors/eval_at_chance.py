"""Evaluation at chance: the score is that of a random answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.roles import words_of

# Scores whose number of choices is known wherever they are used.
KNOWN_CHOICES = {"hellaswag": 4}


@detector(id="eval-at-chance", reads="val.accuracy|train.accuracy")
def eval_at_chance(case: Case) -> Iterator[Finding]:
    """An accuracy that stays at one over the number of choices over the last half of the run."""
    for track in (*case.every("val.accuracy"), *case.every("train.accuracy")):
        rest = words_of(track.tag).rest
        if not rest & {"acc", "accuracy"} or len(track) < case.limit("eval-at-chance", "evaluations"):
            continue
        if (case.progress(track.last_step or 0) or 1.0) < case.limit("eval-at-chance", "progress"):
            continue
        known = next((n for name, n in KNOWN_CHOICES.items() if name in rest), None)
        choices = known or case.context.choices
        if not choices or choices < 2 or choices > 10_000:
            continue
        steps, values = track.points(most=256)
        half = values[len(values) // 2 :] / (100.0 if track.high > 1.5 else 1.0)
        level, chance = float(np.median(half)), 1.0 / choices
        limit = chance * (1 + case.limit("eval-at-chance", "slack"))
        if level > limit:
            continue
        # A small language model that has just begun is at chance on common sense, as it should be.
        yield case.finding(
            "eval-at-chance",
            "info" if known else "warning",
            track,
            f"{track.tag} is {level:.3g} in the second half of the run; chance is {chance:.3g}.",
            first_step=int(steps[len(steps) // 2]),
            evidence=[Evidence(track.tag, "median of the second half", level, limit, int(steps[-1]))],
        )
        return
