"""Learning rate without warm-up: it starts near its peak, and the start was rough."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.objective import objective
from pulseboard.diagnose.track import Points


@detector(id="lr-no-warmup", reads="lr")
def lr_no_warmup(case: Case) -> Iterator[Finding]:
    """Info unless the gradient norm was far above its usual value in the first steps."""
    rate = case.need("lr", points=5)
    steps, values = rate.points()
    top = float(values.max())
    if case.context.adaptive is False or top <= 0 or steps[0] > case.limit("lr-no-warmup", "first_steps"):
        return
    share, limit = float(values[0]) / top, case.limit("lr-no-warmup", "share_of_peak")
    if share <= limit:
        return
    gradient = case.one("gradient.norm")
    rough = _rough_start(case, gradient.points(most=2048)) if gradient is not None and len(gradient) >= 50 else None
    times = case.limit("lr-no-warmup", "gradient_times")
    hurt = rough is not None and rough > times
    # After a smooth start this only describes the schedule, and many good ones look like this.
    if not hurt and case.context.adaptive is None:
        return
    evidence = [Evidence(rate.tag, "first value relative to the peak", share, limit, int(steps[0]))]
    if rough is not None and gradient is not None:
        evidence.append(Evidence(gradient.tag, "highest of the first steps relative to the median", rough, times))
    yield case.finding(
        "lr-no-warmup",
        "warning" if hurt and _loss_rose(case) else "info",
        rate,
        f"{rate.tag} starts at {100 * share:.0f} % of its peak"
        + (
            f", and the gradient norm started at {rough:.0f} times its usual value."
            if hurt
            else "; no harm is visible."
        ),
        first_step=int(steps[0]),
        last_step=int(steps[0]),
        evidence=evidence,
    )


def _loss_rose(case: Case) -> bool:
    """Whether the loss rose in the first tenth of the run."""
    found = objective(case).value
    if found is None or len(found.points.values) < 20:
        return False
    early = found.points.values[: max(5, len(found.points.values) // 10)]
    return float(early.max()) > 1.2 * abs(float(early[0]))


def _rough_start(case: Case, points: Points) -> float | None:
    steps, values = points
    span = case.planned_steps or int(steps[-1])
    early = values[steps <= max(steps[0] + 3, 0.02 * span)]
    usual = float(np.median(values[len(values) // 4 :]))
    return float(early.max()) / usual if len(early) and usual > 0 else None
