"""What measures read from a track: present values, window medians, values at a stage."""

from __future__ import annotations

import math

import numpy as np

from pulseboard.diagnose.track import Floats, Track

# The present value is the median of up to this many last points, so that one odd batch does not decide. They must be
# from this share of the run: the last evaluation counts alone if the one before is long ago.
_LAST_POINTS, _LAST_SHARE = 5, 0.02
# A stage covers this share of the run to both sides; beyond it, the nearest point may be this far away.
_STAGE_SHARE, _MOST_AWAY_SHARE = 0.01, 0.05


def present(track: Track) -> float:
    """The value now. NaN or infinite if the last point is; NaN without points."""
    if not math.isfinite(track.last_value):
        return track.last_value
    steps, values = (column[-_LAST_POINTS:] for column in track.tail)
    if track.first_step is not None and len(steps):
        values = values[steps >= steps[-1] - _LAST_SHARE * (steps[-1] - track.first_step)]
    values = values[np.isfinite(values)]
    return _as_logged(float(np.median(values))) if len(values) else math.nan


def _as_logged(value: float) -> float:
    """0.996 instead of 0.9959999918937683: event files have float32, and limits are decimal numbers."""
    short = np.float32(value)
    return float(str(short)) if float(short) == value else value


def value_at(track: Track, step: int | None) -> float:
    """The value at a step, from the points around it; the present value if the series ends there or before."""
    if step is None or track.last_step is None or step >= track.last_step:
        return present(track)
    steps, values = track.points(most=4096)
    at = int(np.searchsorted(steps, step))
    return float(np.median(values[max(0, at - 2) : at + 3])) if len(values) else math.nan


def windows(track: Track, count: int) -> Floats:
    """Medians of equal parts of the series; fewer if it has fewer points."""
    values = track.points(most=2048).values
    return np.array([np.median(part) for part in np.array_split(values, min(count, len(values))) if len(part)])


def value_near(track: Track, step: float, *, total_steps: float) -> float | None:
    """The median of the points around a step; None if none is near."""
    steps, values = track.points(most=4096)
    if not len(steps):
        return None
    away = np.abs(steps - step)
    near = away <= _STAGE_SHARE * total_steps
    if near.any():
        return _as_logged(float(np.median(values[near])))
    return _as_logged(float(values[int(np.argmin(away))])) if away.min() <= _MOST_AWAY_SHARE * total_steps else None


def steps_between(track: Track) -> float | None:
    """The usual distance of two points in steps; None with fewer than two points."""
    # Series that started late or were thinned at the head do not count: the newest points show the interval in use.
    gaps = np.diff(track.tail.steps)
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if len(gaps) else None
