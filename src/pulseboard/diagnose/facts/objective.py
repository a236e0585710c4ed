"""The objective: the curve that training brings down, as one curve that should fall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.fact import Fact, fact
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.stats.course import Course, course
from pulseboard.diagnose.track import Points, Track

_POINTS = 512
# So many steps must show that one part is the sum of the others, up to rounding and averaging.
_LEAST_SUMS = 8
_RECONSTRUCTION = frozenset({"recon", "reconstruction"})
_CODEBOOK = frozenset({"vq", "codebook", "commit", "commitment"})
_SUM_TOLERANCE = 0.01
# Times the first value, above which the mean of the first points is that of a loss that blew up.
_BLEW_UP = 3.0


@dataclass(frozen=True, slots=True)
class Objective:
    """One curve to judge. Lower is always better: the sign of a maximized quantity is flipped."""

    tag: str  # a tag that is logged, for charts
    name: str  # what to call it in a sentence
    points: Points
    track: Track | None  # the series itself, unless this is a sum of several

    def __str__(self) -> str:
        return self.name


@fact("objective")
def objective(case: Case) -> Fact[Objective]:
    """The training loss; the sum of its parts if only parts are logged."""
    track = _reconstruction(case) or case.one("train.loss")
    if track is not None:
        flipped = track.tag in case.reading.maximized
        steps, values = _with_first(track)
        points = Points(steps, -values) if flipped else Points(steps, values)
        return Fact(
            Objective(track.tag, track.tag, points, None if flipped else track),
            0.6 if any(text.startswith(repr(track.tag)) for text in case.reading.doubtful) else 0.95,
            (track.tag,),
            "maximized, so its sign is flipped" if flipped else "the training loss",
        )
    parts = [part for part in case.every("loss.components") if part.finite_count >= 2]
    most = max((part.finite_count for part in parts), default=0)
    parts = [part for part in parts if part.finite_count >= 0.8 * most]
    if (whole := _sum_among(parts)) is not None:
        return Fact(whole, 0.8, (whole.tag,), "the sum of the other parts")
    return sum_of(parts) if len(parts) > 1 else Fact(None, why="no training loss is logged")


def _reconstruction(case: Case) -> Track | None:
    """The reconstruction next to a codebook's loss: the codes spread at first, and the sum of both rises with that."""
    words = [words_of(tag).rest for tag in case.tracks]
    parts = [track for track in case.every("loss.components") if words_of(track.tag).rest & _RECONSTRUCTION]
    return parts[0] if parts and any(some & _CODEBOOK for some in words) else None


def _with_first(track: Track) -> Points:
    """The points, with the first one as logged if the mean of its block is far above: the first updates blew up."""
    steps, values = track.points(most=_POINTS)
    first = float(track.head.values[0]) if len(track.head.values) else float("nan")
    if len(values) and first > 0 and values[0] > _BLEW_UP * first:
        values = np.concatenate([[first], values[1:]])
    return Points(steps, values)


def _sum_among(parts: list[Track]) -> Objective | None:
    """The part that is the sum of the others, over the steps that all have: the loss under a name of its own."""
    if len(parts) < 3:
        return None
    columns = [part.points(most=_POINTS) for part in parts]
    steps = columns[0].steps
    for column in columns[1:]:
        steps = np.intersect1d(steps, column.steps)
    if len(steps) < _LEAST_SUMS:
        return None
    rows = np.array([column.values[np.searchsorted(column.steps, steps)] for column in columns])
    largest = int(np.argmax(np.median(rows, axis=1)))
    off = float(np.median(np.abs(rows.sum(0) - 2 * rows[largest])))
    if off > _SUM_TOLERANCE * float(np.median(np.abs(rows[largest]))):
        return None
    return Objective(parts[largest].tag, parts[largest].tag, Points(steps, rows[largest]), None)


@fact("course")
def loss_course(case: Case) -> Fact[Course]:
    """How the objective has gone so far."""
    curve = objective(case).value
    found = course(curve.points) if curve is not None else None
    if curve is None or found is None:
        return Fact(None, why="too few points of a training loss")
    return Fact(found, objective(case).confidence, (curve.tag,), "")


def sum_of(parts: list[Track]) -> Fact[Objective]:
    """The sum over the steps that all parts have."""
    columns = [part.points(most=_POINTS) for part in parts]
    steps = columns[0].steps
    for column in columns[1:]:
        steps = np.intersect1d(steps, column.steps)
    if len(steps) < 2 or len(steps) < 0.8 * min(len(column.steps) for column in columns):
        return Fact(None, why="the parts of the loss are logged at different steps")
    values = np.zeros(len(steps))
    for column in columns:
        at = np.searchsorted(column.steps, steps)
        values += column.values[np.clip(at, 0, len(column.values) - 1)]
    largest = max(parts, key=lambda part: abs(part.last_value) if np.isfinite(part.last_value) else 0.0)
    name = f"the sum of {', '.join(part.tag for part in parts[:4])}" + (", ..." if len(parts) > 4 else "")
    return Fact(Objective(largest.tag, name, Points(steps, values), None), 0.7, tuple(p.tag for p in parts), "a sum")
