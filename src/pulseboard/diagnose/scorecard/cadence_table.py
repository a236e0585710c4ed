"""How often each category is logged, next to what the document asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.profile import Cadence, Profile, tag_matches
from pulseboard.diagnose.scorecard.curves import steps_between
from pulseboard.diagnose.scorecard.rows import CadenceRow, Frequency


def cadence_rows(case: Case, other_steps: Mapping[str, Sequence[int]]) -> Iterator[CadenceRow]:
    """A row per category; if the document has no table of its own, per interval that its metrics ask for."""
    gaps = {tag: steps_between(track) for tag, track in case.tracks.items()}
    gaps |= {tag: _usual_gap(steps) for tag, steps in other_steps.items()}
    for cadence in case.profile.cadences or tuple(_by_interval(case.profile)):
        found = [gap for tag, gap in gaps.items() if any(tag_matches(pattern, tag) for pattern in cadence.tags)]
        known = [gap for gap in found if gap is not None]
        every = float(np.median(known)) if known else None
        yield CadenceRow(
            cadence.category, cadence.every, len(found), every, _verdict(cadence.every, every, len(found)), cadence.note
        )


def _by_interval(profile: Profile) -> Iterator[Cadence]:
    intervals: dict[str, list[str]] = {}
    for metric in profile.metrics:
        if metric.every:
            intervals.setdefault(metric.every, []).append(metric.tag)
    for every, tags in intervals.items():
        yield Cadence(_shortened(tags), every, tuple(tags))


def _shortened(tags: Sequence[str]) -> str:
    return ", ".join(tags[:3]) + (f" and {len(tags) - 3} more" if len(tags) > 3 else "")


def _verdict(asked: str, every: float | None, tags: int) -> Frequency:
    if not tags:
        return "not logged"
    low, high = _steps(asked)
    if every is None or math.isnan(low):
        return "logged"  # once, or an interval that is not counted in steps
    # A run may be shorter than the interval asked for: logging more often is never a fault.
    return "less often" if every > high else "more often" if every < low else "as asked"


def _steps(asked: str) -> tuple[float, float]:
    """The interval in steps: `step`, `100 steps`, `100 to 500 steps`. NaN for epochs and evaluations."""
    if asked == "step":
        return 1.0, 1.0
    numbers = [float(digits) for digits in re.findall(r"\d+", asked)]
    return (numbers[0], numbers[-1]) if numbers and asked.endswith("steps") else (math.nan, math.nan)


def _usual_gap(steps: Sequence[int]) -> float | None:
    gaps = np.diff(np.unique(np.asarray(steps, np.int64)))
    return float(np.median(gaps)) if len(gaps) else None
