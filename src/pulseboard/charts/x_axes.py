"""Which metrics can be the x axis of charts: first those that rise, as counts of tokens, samples and epochs do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pulseboard.charts.results import XAxisMetric
from pulseboard.core.series import Series
from pulseboard.read.run import Run
from pulseboard.tbformat import kinds

# Runs of one log directory mostly log the same: a few of them are enough.
_MAX_RUNS = 5


def x_axis_metrics(runs: Sequence[Run]) -> list[XAxisMetric]:
    """The scalar tags of the first few runs; those that rise in all of them come first, then by name."""
    rising: dict[str, bool] = {}
    with_scalars = (run for run in runs if kinds.SCALAR in run.kinds())
    for run, _ in zip(with_scalars, range(_MAX_RUNS), strict=False):
        for tag in run.tags(kinds.SCALAR):
            rising[tag] = rising.get(tag, True) and rises(run.series(tag))
    return sorted((XAxisMetric(tag, rises) for tag, rises in rising.items()), key=lambda one: (not one.rises, one.tag))


def rises(series: Series) -> bool:
    """Whether a series never falls, and ends higher than it begins."""
    values = series.values
    return len(values) > 1 and bool(values[-1] > values[0]) and bool((np.diff(values) >= 0).all())  # False for NaN
