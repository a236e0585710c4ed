"""GPU fault: the driver reported hardware errors during the run."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="gpu-fault", reads="gpu.errors")
def gpu_fault(case: Case) -> Iterator[Finding]:
    """Any error counter that went up."""
    for track in case.every("gpu.errors"):
        first = float(track.head.values[0]) if len(track) else 0.0
        if track.high <= first:
            continue
        yield case.finding(
            "gpu-fault",
            "critical",
            track,
            f"{track.tag} rose from {first:.0f} to {track.high:.0f}: the GPU or its memory has errors.",
            first_step=track.step_of_high(),
            evidence=[Evidence(track.tag, "error count", track.high, first, track.step_of_high(), on_curve=True)],
        )
