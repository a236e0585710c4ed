"""Return flat: the policy has not learned anything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.returns import main_return
from pulseboard.diagnose.phrases import count, number
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Floats

SLUG = "return-flat"
_PARTS = 8


@detector(id=SLUG, reads="rl.return")
def return_flat(case: Case) -> Iterator[Finding]:
    """No eighth of the run earned more than the first points, and there is no upward trend."""
    track = main_return(case, points=int(case.patient(case.limit(SLUG, "points"))))
    steps, values = track.points(most=512)
    line = trend(track.points(most=512))
    if line is None or line.p_rising < case.limit(SLUG, "p"):
        return
    parts = np.array_split(values, _PARTS)
    first, last = float(np.median(parts[0])), float(np.median(parts[-1]))
    levels = [float(np.median(part)) for part in parts]
    if _rose(case, values, levels) or _is_at_its_best(values) or _could_be_noise(case, values, levels):
        return
    yield case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} started at {number(first)} and is {number(last)} after {count(len(track), 'point')}: nothing was "
        "learned.",
        first_step=int(steps[0]),
        evidence=[
            Evidence(track.tag, "p-value of a rising trend", line.p_rising, case.limit(SLUG, "p"), int(steps[-1]))
        ],
    )


def _rose(case: Case, values: Floats, levels: list[float]) -> bool:
    """Whether any later level is above the first points or the first level by more than chance."""
    apart = np.concatenate([part - np.median(part) for part in np.array_split(values, _PARTS)])
    noise = max(noise_scale(values), 1.4826 * float(np.median(np.abs(apart))))
    error = 1.25 * noise * np.sqrt(2 * _PARTS / len(values))
    start = min(levels[0], float(np.median(values[: max(3, len(values) // 50)])) + 2 * noise)
    size = max(abs(levels[0]), abs(levels[-1]), 1e-12)
    if abs(levels[-1] - levels[0]) > max(4 * error, 0.25 * size):
        return True  # it changed, for better or for worse
    return bool(max(levels[1:]) - start > case.limit(SLUG, "errors") * error + 1e-9 * abs(start))


def _could_be_noise(case: Case, values: Floats, levels: list[float]) -> bool:
    """Few points show a standstill only if they hardly move at all."""
    if len(values) >= case.limit(SLUG, "few"):
        return False
    size = max(abs(levels[0]), abs(levels[-1]), 1e-12)
    return max(levels) - min(levels) > case.limit(SLUG, "band") * size


def _is_at_its_best(values: Floats) -> bool:
    """A constant return above zero is probably the maximum."""
    return bool(np.ptp(values) == 0 and values[0] > 0)
