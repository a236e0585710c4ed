"""Quote: the values of a curve as a person finds them in the log, next to the levels that decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.stats.course import Course
from pulseboard.diagnose.track import Points

# From so many points on, single ones are noise, and levels are quoted instead.
_MANY_POINTS = 150


@dataclass(frozen=True, slots=True)
class Quote:
    """The first, best and last value of a course: logged ones if there are few, else levels of many."""

    start: float
    best: float
    best_step: int
    best_at: int
    end: float
    logged: bool  # whether these are values of the log

    def text(self, value: float) -> str:
        """A value of the quote in a sentence."""
        return number(value) if self.logged else f"about {number(value)}"

    @property
    def rise_share(self) -> float:
        """The rise from the best to the last value, as a share of the best."""
        return (self.end - self.best) / abs(self.best) if self.best else float("inf")


def quote(points: Points, found: Course) -> Quote:
    """The values to name for a course of these points."""
    steps, values = points
    near = slice(max(0, found.best_at - found.width), found.best_at + found.width + 1)
    best_at = near.start + int(np.argmin(values[near]))
    best_step = int(steps[best_at])
    if found.points >= _MANY_POINTS:
        return Quote(found.start, found.best, best_step, best_at, found.end, logged=False)
    # A last value that is unlike the ones before it does not show where the curve is.
    end = float(values[-1])
    if abs(end - found.end) > 0.5 * max(found.rise, found.gain):
        end = found.end
    return Quote(float(values[0]), float(values[best_at]), best_step, best_at, end, logged=True)
