"""Period: whether a series repeats with a fixed period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.track import Points


@dataclass(frozen=True, slots=True)
class Period:
    """The strongest repetition in a series."""

    steps: float
    strength: float  # the spectrum peak relative to the median around it
    swing: float  # from the lowest to the highest point, about
    share: float  # of the variance that the period explains


def period(points: Points) -> Period | None:
    """The strongest period between 4 points and a sixth of the series; None for fewer than 64 points."""
    steps, values = points
    n = len(values)
    if n < 64:
        return None
    # Windows that are not full yet say little about the course.
    width = max(3, n // 8)
    detrended = values[width:] - np.median(np.lib.stride_tricks.sliding_window_view(values[1:], width), axis=1)
    m = len(detrended)
    spread = 1.4826 * float(np.median(np.abs(detrended - np.median(detrended))))
    # Single outliers are not a period.
    detrended = np.clip(detrended - np.median(detrended), -4 * spread, 4 * spread) if spread > 0 else detrended
    power = np.abs(np.fft.rfft(detrended * np.hanning(m))) ** 2
    low, high = 6, m // 4
    if high <= low + 8 or not power[low:high].any():
        return None
    at = int(np.argmax(power[low:high])) + low
    around = np.concatenate([power[max(1, at - 20) : max(1, at - 2)], power[at + 3 : at + 21]])
    middle = float(np.median(around)) if len(around) else 0.0
    if middle <= 0:
        return None
    total = float(power[1:].sum())
    share = float(power[at - 1 : at + 2].sum()) / total
    swing = 2 * np.sqrt(2 * share) * float(np.std(detrended))
    stride = float(np.median(np.diff(steps))) if len(steps) > 1 else 1.0
    return Period(m / at * stride, float(power[at]) / middle, float(swing), share)
