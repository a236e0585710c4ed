"""Value diverged: the critic is further off than any return would explain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.critic import critic_losses
from pulseboard.diagnose.facts.returns import earns_well, largest_return
from pulseboard.diagnose.phrases import number, times
from pulseboard.diagnose.stats.course import centered_median
from pulseboard.diagnose.track import Floats, Track

SLUG = "value-diverged"
_NEARLY_ALL = 0.8
_SURE = 3.0  # standard errors


@detector(id=SLUG, reads=("rl.loss|rl.value", "rl.return"))
def value_diverged(case: Case) -> Iterator[Finding]:
    """The critic's loss has grown by far more than the returns, or it expects what no episode ever earned."""
    least = int(case.patient(case.limit(SLUG, "points")))
    losses = [track for track in critic_losses(case) if track.finite_count >= least or _runs_away(case, track)]
    estimates = [track for track in case.every("rl.value") if track.finite_count >= least]
    if not losses and not estimates:
        raise TooShort(f"needs {least} points of a critic's loss or of its value estimates")
    if earns_well(case):
        return
    for track in losses:
        if (finding := _grown(case, track)) is not None:
            yield finding
            return
    for track in estimates:
        if (finding := _beyond(case, track)) is not None:
            yield finding
            return


def _runs_away(case: Case, track: Track) -> bool:
    """Few points are enough if they grow nearly all the way, and far."""
    values = track.points(most=64).values
    if not case.finished or len(values) < case.limit(SLUG, "few_points") or values.min() <= 0:
        return False
    grown = float(values[-1] / values[0]) >= case.limit(SLUG, "growth_of_few")
    return grown and float((np.diff(values) > 0).mean()) >= _NEARLY_ALL


def _grown(case: Case, track: Track) -> Finding | None:
    steps, values = track.points(most=512)
    if not len(values) or values.min() < 0:
        return None
    best, at, end = _levels(values)
    allowed = _growth_of_returns(case, int(steps[at])) ** 2
    if not _usually_grew(values, case.limit(SLUG, "beyond")):
        return None
    if best <= 0 or end < case.limit(SLUG, "growth") * best or end < case.limit(SLUG, "beyond") * allowed * best:
        return None
    return case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} rose from {number(best)} at step {int(steps[at]):,} to {number(end)} ({times(end / best)}), but "
        "the return has not improved.",
        first_step=int(steps[at]),
        evidence=[
            Evidence(track.tag, "growth of the critic's loss", end / best, case.limit(SLUG, "growth"), int(steps[-1])),
            Evidence(track.tag, "growth that returns would explain", allowed),
        ],
    )


def _usually_grew(values: Floats, least: float) -> bool:
    """Whether the usual size has grown beyond the noise of its logarithm. With sparse rewards it is often 0."""
    third = max(2, len(values) // 3)
    logs = np.log(np.maximum(values, 1e-12 * float(values.max())))
    first, last = logs[:third], logs[-third:]
    grew = float(np.median(last) - np.median(first))
    error = np.sqrt(0.5 * (first.var() + last.var())) * np.sqrt(2 / third)
    return bool(grew > max(np.log(least), _SURE * float(error)))


def _levels(values: Floats) -> tuple[float, int, float]:
    """The lowest level, where it was, and the level at the end; a few points each."""
    width = max(3, len(values) // 16 | 1)
    level = centered_median(values, width)
    at = int(np.argmin(level[: -max(3, len(values) // 20)]))
    return float(level[at]), at, float(np.median(values[-max(3, len(values) // 20) :]))


def _growth_of_returns(case: Case, step: int) -> float:
    """How much returns have grown in size since a step. A critic's error is in proportion to what it predicts."""
    growth = 1.0
    for track in case.every("rl.return"):
        steps, values = track.points(most=512)
        sizes = np.abs(values)
        before, after = sizes[steps <= step], sizes[steps > step]
        if len(before) and len(after):
            small = max(float(np.median(before)), 1e-3 * float(sizes.max()), 1e-12)
            growth = max(growth, float(np.median(after[-max(3, len(after) // 4) :])) / small)
    return growth


def _beyond(case: Case, track: Track) -> Finding | None:
    values = track.points(most=512).values
    earned = largest_return(case)
    end = float(np.median(values[-max(3, len(values) // 20) :]))
    usual = float(np.median(np.abs(values)))
    if not earned or abs(end) < case.limit(SLUG, "expected") * earned or abs(end) < 2 * usual:
        return None
    return case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} is {number(end)}, but no episode has returned more than {number(earned)}.",
        evidence=[
            Evidence(track.tag, "relative to the largest return", abs(end) / earned, case.limit(SLUG, "expected"))
        ],
    )
