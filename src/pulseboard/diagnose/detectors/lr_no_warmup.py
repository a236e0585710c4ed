"""Learning rate without warm-up: it begins near its peak, and the beginning was rough."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.track import Points


@detector(id="lr-no-warmup", reads="lr")
def lr_no_warmup(case: Case) -> Iterator[Finding]:
    """Only info unless the gradient norm was far above its usual in the first steps."""
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
    # Without a rough beginning this says how the schedule is, not that it is wrong: many good ones are so.
    if not hurt and case.context.adaptive is None:
        return
    evidence = [Evidence(rate.tag, "first value over the peak", share, limit, int(steps[0]))]
    if rough is not None and gradient is not None:
        evidence.append(Evidence(gradient.tag, "highest of the first steps over the median", rough, times))
    yield case.finding(
        "lr-no-warmup",
        "warning" if hurt else "info",
        rate,
        f"{rate.tag} begins at {100 * share:.0f} % of its peak"
        + (f", and the gradient norm began at {rough:.0f} times its usual." if hurt else "; no harm is seen."),
        first_step=int(steps[0]),
        last_step=int(steps[0]),
        evidence=evidence,
    )


def _rough_start(case: Case, points: Points) -> float | None:
    steps, values = points
    span = case.planned_steps or int(steps[-1])
    early = values[steps <= max(steps[0] + 3, 0.02 * span)]
    usual = float(np.median(values[len(values) // 4 :]))
    return float(early.max()) / usual if len(early) and usual > 0 else None
