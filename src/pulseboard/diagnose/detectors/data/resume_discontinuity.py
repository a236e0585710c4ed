"""Resume discontinuity: the loss jumped when the run was resumed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.stats.noise import noise_scale


@detector(id="resume-discontinuity", reads="train.loss")
def resume_discontinuity(case: Case) -> Iterator[Finding]:
    """The loss after each resume, compared with the loss before it."""
    loss = case.need("train.loss", points=32)
    steps, values = loss.points()
    for restart in case.restarts:
        at = int(np.searchsorted(steps, restart))
        before, after = values[max(0, at - 24) : at], values[at : at + 12]
        if len(before) < 12 or len(after) < 8:
            continue
        scale = max(noise_scale(before), 1e-3 * abs(float(np.median(before))))
        jump = float(np.median(after) - np.median(before))
        errors = jump / (1.25 * scale * np.sqrt(1 / len(before) + 1 / len(after)))
        share = jump / abs(float(np.median(before))) if np.median(before) else 0.0
        limit = case.limit("resume-discontinuity", "errors")
        if errors < limit or share < case.limit("resume-discontinuity", "share"):
            continue
        yield case.finding(
            "resume-discontinuity",
            "warning",
            loss,
            f"{loss.tag} jumped from {number(float(np.median(before)))} to {number(float(np.median(after)))} "
            f"(+{percent(share)}) at the resume at step {restart}.",
            first_step=int(restart),
            last_step=int(steps[min(len(steps) - 1, at + 12)]),
            evidence=[Evidence(loss.tag, "jump in standard errors", float(errors), limit, int(restart))],
        )
