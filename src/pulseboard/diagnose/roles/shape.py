"""Shapes: what the values of a series look like, and why they cannot be what their name says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.stats.median import median
from pulseboard.diagnose.track import Track

# From here on every floating-point number is whole.
_MOST_COUNT = 2.0**53


@dataclass(frozen=True, slots=True)
class Shape:
    """The values of a series in a few words. Without values (`known` False) nothing is objected to."""

    count: int
    known: bool = False
    low: float = 0.0
    high: float = 0.0
    first: float = 0.0  # level of the first points
    last: float = 0.0  # level of the last points
    is_whole: bool = False  # integers only
    is_rising: bool = False  # never falls, and takes more than two values
    mostly_rises: bool = False  # at nine points of ten
    is_constant: bool = False
    jumps_about: bool = False  # up and down by a tenth of its level at most points

    @classmethod
    def of(cls, track: Track) -> Shape:
        """The shape of a track."""
        with np.errstate(all="ignore"):
            return cls._of(track)

    @classmethod
    def _of(cls, track: Track) -> Shape:
        values = track.points(most=512).values
        if not len(values):
            return cls(len(track))
        changes = np.diff(values)
        edge = max(1, len(values) // 8)
        low, high = track.low, track.high
        exact = np.concatenate([track.head.values, track.tail.values])
        exact = exact[np.isfinite(exact)]
        turns = float((changes[1:] * changes[:-1] < 0).mean()) if len(changes) > 8 else 0.0
        typical = median(np.abs(changes)) if len(changes) else 0.0
        return cls(
            len(track),
            known=True,
            low=low,
            high=high,
            first=median(values[:edge]),
            last=median(values[-edge:]),
            is_whole=bool(len(exact)) and bool((exact == np.round(exact)).all()) and high < _MOST_COUNT,
            is_rising=len(values) > 2 and bool((changes >= 0).all()) and high > low and len(np.unique(values)) > 2,
            mostly_rises=len(changes) > 3 and float((changes > 0).mean()) > 0.9,
            is_constant=low == high,
            jumps_about=turns > 0.5 and typical > 0.1 * abs(median(values)),
        )

    @property
    def is_counter(self) -> bool:
        """Whether it counts something."""
        return self.known and self.is_whole and self.is_rising


def not_a_counter(shape: Shape) -> str:
    """For anything that is measured."""
    return "it only counts up in whole numbers" if shape.is_counter else ""


# Scores are shares or percent; a few are decibels or points in a game.
_MOST_SCORE = 10_000


def a_score(shape: Shape) -> str:
    """A score in percent may rise in whole numbers; a counter goes beyond a hundred."""
    if shape.known and shape.low > _MOST_SCORE:
        return f"it is {shape.low:.3g} or more"
    return not_a_counter(shape) if shape.high > 100 else ""


def a_duration(shape: Shape) -> str:
    """The time that something takes: positive, and neither a clock nor a constant."""
    if shape.known and shape.mostly_rises:
        return "it always rises, like a clock"
    return positive(shape)


def a_rate(shape: Shape) -> str:
    """A learning rate is positive, small and follows a schedule."""
    if not shape.known:
        return ""
    if shape.low < 0:
        return f"it is negative ({shape.low:.3g})"
    if shape.is_counter:
        return "it only counts up in whole numbers"
    if shape.high > 100:
        return f"it reaches {shape.high:.3g}"
    return "it jumps up and down at random" if shape.jumps_about else ""


def positive(shape: Shape) -> str:
    """Norms, times and amounts."""
    if shape.known and shape.low < 0:
        return f"it is negative ({shape.low:.3g})"
    return not_a_counter(shape)


def a_share(shape: Shape) -> str:
    """Between 0 and 1, or in percent."""
    if shape.known and (shape.low < 0 or shape.high > 100):
        return f"it goes from {shape.low:.3g} to {shape.high:.3g}, which is not a share"
    return ""
