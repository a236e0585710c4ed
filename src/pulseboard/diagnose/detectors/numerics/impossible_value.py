"""Impossible value: a cross-entropy below zero, or an accuracy outside its range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding, Severity
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.regime import may_rise
from pulseboard.diagnose.facts.scores import accuracies
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.track import Track

# A loss that falls without bound: points, share of steps down, times its first value, and size.
_LEAST_POINTS, _NEARLY_ALL, _HUNDREDFOLD, _LARGE = 8, 0.9, 100.0, 1e4


@detector(id="impossible-value", reads="train.loss|val.loss|train.accuracy|val.accuracy|val.error|train.error")
def impossible_value(case: Case) -> Iterator[Finding]:
    """Losses count only if they are known to be cross-entropies."""
    for track in (*case.every("train.loss")[:1], *case.every("val.loss")):
        if track.low < 0 and _is_cross_entropy(case, track):
            yield _finding(case, track.tag, "a cross-entropy below zero", track.low, 0.0)
            break
    if not may_rise(case) and (endless := _falls_without_bound(case)) is not None:
        yield endless
    scores = ("val.accuracy", "val.error", "train.accuracy", "train.error")
    for track in (track for role in scores for track in case.every(role)):
        seen = track.not_finite
        if len(track) >= 3 and seen.nan + seen.inf == len(track):
            what = "NaN" if seen.nan >= seen.inf else "infinite"
            yield _finding(case, track.tag, f"{what} at every evaluation", float("nan"), 0.0, severity="warning")
            break
    for track in (*case.every("train.accuracy"), *case.every("val.accuracy")):
        if not words_of(track.tag).rest & {"acc", "accuracy"} or not len(track.points().values):
            continue
        top = 1.0 if float(track.points().values[0]) <= 1.0 and track.high <= 1.5 else 100.0
        if track.low < 0:
            yield _finding(case, track.tag, "an accuracy below zero", track.low, 0.0)
        elif track.high > top * (1 + 1e-6):
            yield _finding(case, track.tag, f"an accuracy above {top:g}", track.high, top)


def _falls_without_bound(case: Case) -> Finding | None:
    """A loss below zero whose size grows a hundredfold and keeps growing: likelihoods do that only by chance."""
    for track in case.every("train.loss")[:1]:
        values = track.points(most=256).values
        if len(values) < _LEAST_POINTS or values[0] >= 0 or track.tag in case.reading.maximized:
            continue
        first, last = float(values[0]), float(values[-1])
        grows = float((np.diff(values) < 0).mean()) > _NEARLY_ALL
        if grows and last < _HUNDREDFOLD * first and last < -_LARGE:
            return _finding(case, track.tag, "and falls on without bound", last, 0.0, severity="warning")
    return None


def _is_cross_entropy(case: Case, track: Track) -> bool:
    """By the config; or a classifier's loss whose counterpart on the other split is never below zero."""
    if case.context.choices is not None:
        return True
    twin = case.tracks.get(case.reading.twins.get(track.tag, ""))
    return twin is not None and len(twin) >= 5 and twin.low >= 0 and bool(accuracies(case))


def _finding(
    case: Case, tag: str, what: str, value: float, limit: float, *, severity: Severity = "critical"
) -> Finding:
    return case.finding(
        "impossible-value",
        severity,
        tag,
        f"{tag} is {what}." if value != value else f"{tag} reached {number(value)}, {what}.",
        evidence=[Evidence(tag, what, value, limit, on_curve=True)],
    )
