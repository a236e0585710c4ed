"""A scalar series summarized in a few numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

from pulseboard.core.axes import Step, Tag, WallTime
from pulseboard.core.series import Series


class ScalarStats(NamedTuple):
    """A series in one line. Minimum and maximum cover the finite values, and are NaN if there are none."""

    tag: Tag
    count: int  # type: ignore[assignment]  # hides the method of tuples
    nan_count: int
    inf_count: int
    min: float
    max: float
    last: float
    first_step: Step
    last_step: Step
    max_step: Step
    first_wall: WallTime
    last_wall: WallTime


def stats_of(series: Series) -> ScalarStats:
    """Summarize a series."""
    import numpy as np

    n = len(series)
    if not n:
        return ScalarStats(series.tag, 0, 0, 0, math.nan, math.nan, math.nan, 0, 0, 0, math.nan, math.nan)
    values, steps = series.values, series.steps
    finite = values[np.isfinite(values)]
    nan = int(np.isnan(values).sum())
    return ScalarStats(
        series.tag,
        n,
        nan,
        n - len(finite) - nan,
        float(finite.min()) if len(finite) else math.nan,
        float(finite.max()) if len(finite) else math.nan,
        float(values[-1]),
        int(steps[0]),
        int(steps[-1]),
        int(steps.max()),
        float(series.wall_times[0]),
        float(series.wall_times[-1]),
    )
