"""Token mix: many of the tokens are padding or unknown tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent


@detector(id="token-mix", reads="data.padding")
def token_mix(case: Case) -> Iterator[Finding]:
    """The median share over the run."""
    limit = case.limit("token-mix", "share")
    for track in case.every("data.padding"):
        values = track.points(most=256).values
        level = float(np.median(values)) / (100.0 if track.high > 1.0 else 1.0) if len(values) >= 3 else 0.0
        if level > limit:
            yield case.finding(
                "token-mix",
                "info",
                track,
                f"{percent(level)} of the tokens are padding or unknown tokens ({track.tag}).",
                evidence=[Evidence(track.tag, "median share", level, limit)],
            )
            return
