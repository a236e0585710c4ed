"""Clipping excess: almost every step is clipped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent
from pulseboard.diagnose.stats.proportion import least_rate


def clipped_share(case: Case) -> tuple[int, int, str] | None:
    """(clipped points, all points, tag) over the last points after warm-up; None if it is not logged."""
    norm = case.one("gradient.norm")
    was = case.one("gradient.was_clipped")
    share = case.one("gradient.clipped")
    if was is not None and len(was) >= 20:
        steps, values = was.tail
        values = values[(steps > case.warm_up_step) & np.isfinite(values)]
        return int((values > 0.5).sum()), len(values), was.tag
    if share is not None and len(share) >= 5:
        values = share.points().values[-20:]
        level = float(np.median(values)) / (100.0 if share.high > 1.0 else 1.0)
        return round(level * 200), 200, share.tag
    after = case.one("gradient.norm_after")
    if case.context.clip_norm is not None and norm is not None and len(norm) >= 20 and norm is not after:
        steps, values = norm.tail
        values = values[(steps > case.warm_up_step) & np.isfinite(values)]
        return int((values > case.context.clip_norm).sum()), len(values), norm.tag
    return None


@detector(id="clipping-excess", reads="gradient.was_clipped|gradient.clipped|gradient.norm")
def clipping_excess(case: Case) -> Iterator[Finding]:
    """Harmful only if the optimizer does not normalize gradients and steps become much smaller."""
    counted = clipped_share(case)
    if counted is None or counted[1] < 20:
        return
    clipped, of, tag = counted
    rate, limit = least_rate(clipped, of), case.limit("clipping-excess", "share")
    if rate <= limit:
        return
    plain = case.context.adaptive is False
    shrunk = _shrunk(case)
    plain = plain and (shrunk is None or shrunk >= case.limit("clipping-excess", "shrunk"))
    yield case.finding(
        "clipping-excess",
        "warning" if plain else "info",
        tag,
        f"{'All' if clipped == of else percent(clipped / of)} of the last {of:,} points were clipped ({tag})"
        + (", which makes the steps of this optimizer smaller." if plain else "; this probably does little harm."),
        evidence=[Evidence(tag, "share of steps clipped (lower bound)", rate, limit)],
    )


def _shrunk(case: Case) -> float | None:
    """How many times smaller clipping makes the typical gradient; None if it is not logged."""
    norm, threshold = case.one("gradient.norm"), case.context.clip_norm
    if norm is None or not threshold or norm is case.one("gradient.norm_after"):
        return None
    steps, values = norm.tail
    values = values[(steps > case.warm_up_step) & np.isfinite(values)]
    return float(np.median(values)) / threshold if len(values) >= 20 else None
