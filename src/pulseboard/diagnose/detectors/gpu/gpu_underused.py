"""GPU underused: the GPU is never fully busy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="gpu-underused", reads="gpu.util")
def gpu_underused(case: Case) -> Iterator[Finding]:
    """Even the busiest samples are below the limit. Info: the remedy depends on the batch size and the data."""
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
            f"GPU utilization is below {busy:.0f} % in 95 of 100 samples ({track.tag}).",
            evidence=[Evidence(track.tag, "95th percentile", busy, limit, on_curve=True)],
        )
        return
