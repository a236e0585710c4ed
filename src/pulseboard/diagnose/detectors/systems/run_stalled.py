"""Run stalled: a run that should be active has stopped logging."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import duration


@detector(id="run-stalled", reads="train.loss|time.step|lr|val.loss|rl.return|gan.loss")
def run_stalled(case: Case) -> Iterator[Finding]:
    """No point for many times the usual gap, and no sign that the run ended. Needs the current time."""
    if case.now is None or case.context.status not in (None, "running"):
        return
    tracks = [track for track in case.tracks.values() if len(track) >= 10]
    if not tracks:
        return
    track = max(tracks, key=len)
    gaps = np.diff(track.tail_walls)
    usual = float(np.quantile(gaps, 0.99))
    silence = case.now - max(t.last_wall for t in tracks)
    limit = max(case.limit("run-stalled", "times") * usual, case.limit("run-stalled", "seconds"))
    # A log from last year is not a stalled run: it must say that it is running, or have logged recently.
    recent = case.context.status == "running" or silence < case.limit("run-stalled", "forget_seconds")
    if silence <= limit or not recent or not np.isfinite(silence):
        return
    yield case.finding(
        "run-stalled",
        "critical",
        track,
        f"Nothing has been logged for {duration(silence)}, since step {track.last_step:,}; the usual gap between "
        "points "
        f"is at most {duration(usual)}.",
        first_step=track.last_step,
        evidence=[Evidence(track.tag, "seconds without a point", silence, limit, track.last_step)],
    )
