"""Run stalled: a run that should be running has gone silent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="run-stalled", reads="train.loss|time.step|lr|val.loss|rl.return|gan.loss")
def run_stalled(case: Case) -> Iterator[Finding]:
    """No point for many times the usual gap, while the run has not said that it ended. Only where now is known."""
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
    # A log of last year is no stalled run: only one that says it is running, or was alive a while ago.
    recent = case.context.status == "running" or silence < case.limit("run-stalled", "forget_seconds")
    if silence <= limit or not recent or not np.isfinite(silence):
        return
    yield case.finding(
        "run-stalled",
        "critical",
        track,
        f"Nothing was logged for {silence:.0f} seconds after step {track.last_step}; the usual gap is below "
        f"{usual:.3g}.",
        first_step=track.last_step,
        evidence=[Evidence(track.tag, "seconds of silence", silence, limit, track.last_step)],
    )
