"""Return flat: a policy that has learned nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector


@detector(id="return-flat", reads="rl.return")
def return_flat(case: Case) -> Iterator[Finding]:
    """The return of the last third is that of the first, to a trifle."""
    # Episodes of training and of evaluation may both be logged: the longer series tells more.
    track = max(case.every("rl.return"), key=lambda track: track.finite_count)
    if track.finite_count < (least := case.limit("return-flat", "points")):
        raise TooShort(f"{track.tag!r} has {track.finite_count} of the {least:.0f} points this needs")
    steps, values = track.points(most=512)
    third = len(values) // 3
    first, last = float(np.median(values[:third])), float(np.median(values[-third:]))
    size = max(abs(first), abs(last), 1e-12)
    spread = float(np.quantile(values, 0.9) - np.quantile(values, 0.1)) / size
    limit = case.limit("return-flat", "share")
    if abs(last - first) > limit * size or spread > 5 * limit:
        return
    yield case.finding(
        "return-flat",
        "warning",
        track,
        f"{track.tag} is {last:.4g} in the last third of the run as in the first: nothing was learned.",
        first_step=int(steps[0]),
        evidence=[Evidence(track.tag, "change as a share", abs(last - first) / size, limit, int(steps[-1]))],
    )
