"""Validation curves: each loss on held-out data as one curve that should fall; parts of one loss are summed."""

from __future__ import annotations

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.objective import Objective, sum_of
from pulseboard.diagnose.roles.quantity import quantity_of
from pulseboard.diagnose.stats.course import course
from pulseboard.diagnose.track import Points, Track

_POINTS = 256
# Evaluations, and how much of its gain a validation loss may have lost.
_TO_HOLD, _HOLDS = 6, 0.05


def validation_curves(case: Case, *, points: int) -> list[Objective]:
    """The validation losses with so many points. If only parts are logged, their sum: one part may pay for another."""
    tracks = [track for track in case.every("val.loss") if track.finite_count >= points]
    parts = [track for track in tracks if _is_part(track)]
    if len(parts) > 1 and len(parts) == len(tracks):
        total = sum_of(parts).value
        return [total] if total is not None and len(total.points.values) >= points else []
    whole = [track for track in tracks if not _is_part(track)] or tracks
    # `val/bce` next to `val/loss` is a part of it, or says the same.
    whole = [track for track in whole if _part(track) == "whole"] or whole
    return [_curve(case, track) for track in whole]


def validation_holds(case: Case) -> bool:
    """Whether every validation loss has learned and is still at its best: then training data has become harder.

    A curriculum, a stronger augmentation and more dropout raise the training loss and nothing else.
    """
    courses = [course(curve.points, steep=True) for curve in validation_curves(case, points=_TO_HOLD)]
    return bool(courses) and all(
        found is not None and found.gain > 4 * found.error and found.rise < _HOLDS * found.gain for found in courses
    )


def _curve(case: Case, track: Track) -> Objective:
    steps, values = track.points(most=_POINTS)
    flipped = track.tag in case.reading.maximized
    return Objective(track.tag, track.tag, Points(steps, -values) if flipped else Points(steps, values), track)


def _is_part(track: Track) -> bool:
    return _part(track) in ("component", "auxiliary")


def _part(track: Track) -> str | None:
    quantity = quantity_of(track.tag)
    return quantity.part if quantity is not None else None
