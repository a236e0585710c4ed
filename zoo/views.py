"""Views: the same training as other people would have logged it."""

import hashlib
from collections.abc import Callable

import numpy as np

from pulseboard.core.series import Series

View = Callable[[Series], Series | None]


def up_to(step: int) -> View:
    """As it stood after a step."""
    return lambda series: _picked(series, np.flatnonzero(series.steps <= step))


def every(n: int) -> View:
    """Each n-th point of what was logged at every step; evaluations and the like are rare already."""
    return lambda series: _picked(series, np.arange(0, len(series), n)) if len(series) >= 20 * n else series


def means_of(n: int) -> View:
    """Means of n points."""

    def view(series: Series) -> Series:
        if len(series) < 20 * n:
            return series
        cut = len(series) - len(series) % n
        last = _picked(series, np.arange(n - 1, cut, n))
        means = series.values[:cut].reshape(-1, n).mean(axis=1)
        return Series(series.tag, last.steps, last.wall_times, means, last.orphaned)

    return view


def without(share: float) -> View:
    """Some metrics are not logged at all: the same ones in every run."""

    def view(series: Series) -> Series | None:
        luck = hashlib.sha256(series.tag.encode()).digest()[0] / 256
        # Without any loss there is nothing to diagnose.
        return None if luck < share and "loss" not in series.tag.lower() else series

    return view


VIEWS: dict[str, View] = {
    "every 10th point": every(10),
    "means of 10": means_of(10),
    "means of 20": means_of(20),  # of 50 would leave eight points of most trainings
    "30 % of metrics missing": without(0.3),
}


def _picked(series: Series, at: np.ndarray) -> Series:
    return Series(series.tag, series.steps[at], series.wall_times[at], series.values[at], series.orphaned[at])
