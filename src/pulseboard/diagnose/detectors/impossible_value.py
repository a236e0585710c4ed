"""Impossible value: a cross-entropy below zero, an accuracy that is no share."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.roles import words_of


@detector(id="impossible-value", reads="train.loss|val.loss|train.accuracy|val.accuracy")
def impossible_value(case: Case) -> Iterator[Finding]:
    """Losses only where the configuration says that they are cross-entropies."""
    if case.context.choices is not None:
        for track in (*case.every("train.loss")[:1], *case.every("val.loss")):
            if track.low < 0:
                yield _finding(case, track.tag, "a cross-entropy below zero", track.low, 0.0)
    for track in (*case.every("train.accuracy"), *case.every("val.accuracy")):
        if not words_of(track.tag).rest & {"acc", "accuracy"} or not len(track.points().values):
            continue
        top = 1.0 if float(track.points().values[0]) <= 1.0 and track.high <= 1.5 else 100.0
        if track.low < 0:
            yield _finding(case, track.tag, "an accuracy below zero", track.low, 0.0)
        elif track.high > top * (1 + 1e-6):
            yield _finding(case, track.tag, f"an accuracy above {top:g}", track.high, top)


def _finding(case: Case, tag: str, what: str, value: float, limit: float) -> Finding:
    return case.finding(
        "impossible-value",
        "critical",
        tag,
        f"{tag} reached {value:.4g}, {what}.",
        evidence=[Evidence(tag, what, value, limit)],
    )
