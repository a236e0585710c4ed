"""Validation curves: each loss on held-out data as one curve that should fall; parts of one loss are summed."""

from __future__ import annotations

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.objective import Objective, sum_of
from pulseboard.diagnose.roles.quantity import quantity_of
from pulseboard.diagnose.track import Points, Track

_POINTS = 256


def validation_curves(case: Case, *, points: int) -> list[Objective]:
    """The validation losses with so many points. If only parts are logged, their sum: one part may pay for another."""
    tracks = [track for track in case.every("val.loss") if track.finite_count >= points]
    parts = [track for track in tracks if _is_part(track)]
    if len(parts) > 1 and len(parts) == len(tracks):
        total = sum_of(parts).value
        return [total] if total is not None and len(total.points.values) >= points else []
    whole = [track for track in tracks if not _is_part(track)] or tracks
    return [_curve(case, track) for track in whole]


def _curve(case: Case, track: Track) -> Objective:
    steps, values = track.points(most=_POINTS)
    flipped = track.tag in case.reading.maximized
    return Objective(track.tag, track.tag, Points(steps, -values) if flipped else Points(steps, values), track)


def _is_part(track: Track) -> bool:
    quantity = quantity_of(track.tag)
    return quantity is not None and quantity.part in ("component", "auxiliary")
