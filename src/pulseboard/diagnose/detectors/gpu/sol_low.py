"""Speed of light low: far below the speed that the hardware allows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="sol-low", reads="sol")
def sol_low(case: Case) -> Iterator[Finding]:
    """Below the limit throughout, after warm-up. Info: most runs are, often for good reason."""
    track = case.need("sol", points=10)
    steps, values = track.points(most=512)
    later = values[steps > case.warm_up_step]
    if len(later) < 10 or "mfu" in track.tag.lower():
        return
    level, limit = float(np.quantile(later, 0.8)), case.limit("sol-low", "percent")
    if level >= limit:
        return
    yield case.finding(
        "sol-low",
        "info",
        track,
        f"{track.tag} stays around {level:.0f} % or below; well-tuned training reaches {limit:g} % or more.",
        evidence=[Evidence(track.tag, "80th percentile", level, limit, on_curve=True)],
    )
