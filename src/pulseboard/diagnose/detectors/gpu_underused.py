"""GPU underused: the GPU waits for work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="gpu-underused", reads="gpu.util")
def gpu_underused(case: Case) -> Iterator[Finding]:
    """Even its busiest samples are below the limit. Info: what to do about it depends on the batch and the input."""
    limit = case.limit("gpu-underused", "util")
    for track in case.every("gpu.util"):
        values = track.points(most=1024).values
        if len(values) < case.limit("gpu-underused", "samples"):
            continue
        busy = float(np.quantile(values, 0.95))
        if busy >= limit:
            continue
        yield case.finding(
            "gpu-underused",
            "info",
            track,
            f"{track.tag} is below {busy:.0f} % in 95 of 100 samples.",
            evidence=[Evidence(track.tag, "95th percentile", busy, limit)],
        )
        return
