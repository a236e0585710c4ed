"""Known-good earlier runs of the same task: a good run's curves stay within their range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.diagnose.stats.band import Band, Departure, band_of, departure

if TYPE_CHECKING:
    from pulseboard.diagnose.case import Case
    from pulseboard.diagnose.stats.band import Floats
    from pulseboard.diagnose.track import Track

LEAST_RUNS = 3


class Earlier:
    """The ranges of several cases, computed on demand."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = tuple(cases)
        self._bands: dict[tuple[str, str, bool], Band | None] = {}

    def departure(self, case: Case, role: str) -> Departure | None:
        """Where a case's curve leaves the range for long enough, in steps. None if it stays inside."""
        track = case.one(role)
        others = [one for one in self.cases if one.path != case.path]  # a run is not compared with itself
        if track is None or len(others) < LEAST_RUNS:
            return None
        by_samples = all(_samples_a_step(one) is not None for one in (case, *others))
        key = (role, case.path if len(others) < len(self.cases) else "", by_samples)
        if key not in self._bands:
            curves = [_curve(one, one.one(role), by_samples) for one in others]
            there = [curve for curve in curves if len(curve[0]) > 1]
            self._bands[key] = band_of(there) if len(there) >= LEAST_RUNS else None
        band = self._bands[key]
        if band is None:
            return None
        unit = _unit(case, by_samples)
        limits = case.profile.limits["out-of-expected-range"]
        x, values = _curve(case, track, by_samples)
        begun = case.warm_up_step * unit
        found = departure(x, values, band, times=limits["times"], floor=limits["floor"], from_x=begun)
        if found is None or found.share < limits["share_of_run"]:
            return None
        return replace(found, first_x=found.first_x / unit, last_x=found.last_x / unit)


def _samples_a_step(case: Case) -> int | None:
    context = case.context
    if context.batch_size is None:
        return None
    return context.batch_size * (context.accumulation or 1) * context.world_size


def _unit(case: Case, by_samples: bool) -> int:
    return (_samples_a_step(case) or 1) if by_samples else 1


def _curve(case: Case, track: Track | None, by_samples: bool) -> tuple[Floats, Floats]:
    if track is None:
        return np.empty(0), np.empty(0)
    steps, values = track.points(most=1024)
    finite = np.isfinite(values)
    return steps[finite].astype(np.float64) * _unit(case, by_samples), values[finite]
