"""The course of a curve that should fall: its start, its best, where it is now, and its noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pulseboard.diagnose.stats.median import median, prefix_medians, window_medians
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Points

Floats = NDArray[np.float64]

LEAST_POINTS = 4
# Below this many points every point counts; from here on medians of neighbors do.
_FEW_POINTS = 12
_MOST_WIDTH = 31
# Of fewer points than this, the steep first part is too large a share for a median of differences to pass over.
_FEW_TO_SETTLE = 40
_LEAST_SETTLED = 6
# Of fewer points, neighbors that are alike look like a bend of the curve.
_FEW_FOR_LIKENESS = 16
_MOST_LIKENESS = 0.95
_MOST_REACH = 8
# Noise widths, and shares of the first value, by which the next values are above it if the first update did that.
_BLEW_UP, _BLEW_UP_BY = 12.0, 1.0
_THIRD = 2.3219  # standard deviation of normal noise over the size that a third of it stays below
# Relative to the reach, by which the bends of a random walk grow; those of a parabola grow by its third power more.
_CURVE_BENDS = 2.0


@dataclass(frozen=True, slots=True)
class Course:
    """A falling curve in a few numbers. Levels are medians of neighboring points."""

    points: int
    start: float
    best: float
    best_step: int
    best_at: int  # the index of the best point
    end: float
    noise: float  # standard deviation of single points around the course
    width: int  # points per median
    stays_up: float  # the lowest level of the last part, above the best
    widening: float = 1.0  # by how much the error of a level grows because neighbors are alike

    def __str__(self) -> str:
        return f"from {self.start:.4g} to {self.end:.4g}, best {self.best:.4g} at step {self.best_step}"

    @property
    def gain(self) -> float:
        """How far it has come down at best."""
        return max(0.0, self.start - self.best)

    @property
    def rise(self) -> float:
        """How far it is above its best now."""
        return max(0.0, self.end - self.best)

    @property
    def rise_share(self) -> float:
        """The rise as a share of the best level."""
        return self.rise / abs(self.best) if self.best else (math.inf if self.rise else 0.0)

    @property
    def lost_share(self) -> float:
        """The rise as a share of what had been gained; infinite if nothing had been."""
        return self.rise / self.gain if self.gain > 0 else (math.inf if self.rise else 0.0)

    @property
    def lost_log_share(self) -> float:
        """The same in logarithms, for a positive curve: its first values may be far above all that it did later."""
        if min(self.start, self.best, self.end) <= 0 or self.start <= self.best:
            return 0.0
        return math.log(max(self.end / self.best, 1.0)) / math.log(self.start / self.best)

    @property
    def points_since_best(self) -> int:
        """How many points came after the best."""
        return self.points - 1 - self.best_at

    @property
    def surprise(self) -> float:
        """The rise in standard errors of the two medians that are compared."""
        return self.rise / self.error

    @property
    def fall_surprise(self) -> float:
        """The fall from the start to the end in standard errors; below 0 if it rose."""
        return (self.start - self.end) / self.error

    @property
    def error(self) -> float:
        """The standard error of the difference of two levels."""
        tiny = 1e-12 + 1e-9 * max(abs(self.start), abs(self.best))
        return max(self.noise, tiny) * math.sqrt(2.0 / max(1.0, 0.6 * self.width)) * self.widening


def course(points: Points, *, steep: bool = False) -> Course | None:
    """The course of a curve; None for fewer than four points. `steep`: its first fall does not count as noise."""
    steps, values = points
    n = len(values)
    if n < LEAST_POINTS:
        return None
    width = 1 if n < _FEW_POINTS else 3 if n < 40 else min(_MOST_WIDTH, n // 16 | 1)
    level = centered_median(values, width)
    noise = min(noise_scale(values), _bend_scale(values))
    if steep and n < _FEW_TO_SETTLE:
        noise = min(noise, _settled_noise(values))
    if width > 1:
        noise = max(noise, 1.4826 * median(np.abs(values - level)))
    best_at = int(np.argmin(level))
    last = max(2, n // 8)
    # Of the first points only: many losses do most of their fall within a few.
    start = float(values[0]) if width == 1 else _start(values, noise)
    end = median(values[-max(1, width) :])
    change = max(abs(start - end), end - float(level[best_at]))
    return Course(
        points=n,
        start=start,
        best=float(level[best_at]),
        best_step=int(steps[best_at]),
        best_at=best_at,
        end=end,
        noise=noise,
        width=width,
        widening=_widening(values, noise=noise, width=width, change=change) if n >= _FEW_FOR_LIKENESS else 1.0,
        stays_up=float(level[-last:].min() - level[best_at]) if n - 1 - best_at >= last else 0.0,
    )


def _start(values: Floats, noise: float) -> float:
    """The level of the first points, or the very first one if the next ones are far above: they blew up at once."""
    level, first = median(values[:3]), float(values[0])
    return first if level - first > max(_BLEW_UP * noise, _BLEW_UP_BY * abs(first)) else level


def _settled_noise(values: Floats) -> float:
    """The noise after the first, steep fall: from where four fifths of the way to the best were made."""
    best = float(values.min())
    near = np.flatnonzero(values <= best + 0.2 * max(0.0, float(values[0]) - best))
    settled = values[int(near[0]) :]
    return noise_scale(settled) if len(settled) >= _LEAST_SETTLED else math.inf


def _bend_scale(values: Floats) -> float:
    """The standard deviation of the noise from second differences: neither a slope nor a bend counts as noise."""
    bends = values[2:] - 2 * values[1:-1] + values[:-2]
    spread = 1.4826 * median(np.abs(bends - median(bends))) if len(bends) > 4 else float(np.std(bends))
    return spread / math.sqrt(6.0) if spread > 0 else math.inf


def _widening(values: Floats, *, noise: float, width: int, change: float) -> float:
    """By how much the error of a median of `width` points grows if neighbors are alike.

    Such points differ less from each other than from the level, and average out more slowly. Noise of first order is
    assumed: a point is phi times the one before and something new. Second differences over one and over several points
    show phi without being misled by a slope. If they grow faster than any phi allows, the curve itself bends. All of it
    counts only as far as the noise matters compared with the change of the curve.
    """
    reach = min(_MOST_REACH, len(values) // 6)
    near, far = _bend_spread(values, 1), _bend_spread(values, reach)
    if near <= 0 or noise <= 0:
        return 1.0
    ratio = (far / near) ** 2
    phis, ratios = _likeness(reach)
    phi = float(np.interp(ratio, ratios, phis)) if ratio < _CURVE_BENDS * reach else 0.0
    variance = near**2 / (2 * (1 - phi) * (3 - phi))
    averaged = variance * min(1.0, (1 + phi) / (1 - phi) / max(1.0, 0.6 * width))
    widening = averaged * max(1.0, 0.6 * width) / noise**2
    # Between the noise around the course and all of it: a curve that bends looks like noise with a long memory.
    matters = noise * math.sqrt(variance)
    share = matters / (matters + change**2 / 12)
    return math.sqrt(max(1.0, 1 + share * (widening - 1)))


@lru_cache(maxsize=8)
def _likeness(reach: int) -> tuple[Floats, Floats]:
    """For some phi, the variance of second differences over `reach` points relative to those over one."""
    phi = np.linspace(0.0, _MOST_LIKENESS, 39)
    far = phi**reach
    return phi, (1 - far) * (3 - far) / ((1 - phi) * (3 - phi))


def _bend_spread(values: Floats, reach: int) -> float:
    """The size of second differences over `reach` points, of the smaller ones: a jump of the curve makes large ones."""
    bends = np.abs(values[2 * reach :] - 2 * values[reach:-reach] + values[: -2 * reach])
    place = len(bends) // 3
    return _THIRD * float(np.partition(bends, place)[place])


def centered_median(values: Floats, width: int) -> Floats:
    """The median of `width` points around each point; fewer at the edges."""
    n, half = len(values), width // 2
    if half == 0 or n == 0:
        return values
    if n <= width:
        return np.array([median(values[max(0, i - half) : i + half + 1]) for i in range(n)])
    first = prefix_medians(values, 2 * half)[half:]
    last = prefix_medians(values[::-1], 2 * half)[half:][::-1]
    return np.concatenate([first, window_medians(values, width), last])
