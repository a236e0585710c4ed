"""Resume discontinuity: the loss jumped when the run was resumed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Floats

# A part of the loss that rose by less did not jump with it.
_MOVED = 0.2


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
        redefined = _parts_stayed(case, restart)
        lost = share >= case.limit("resume-discontinuity", "severe") and _stays(values[at:], float(np.median(before)))
        yield case.finding(
            "resume-discontinuity",
            "critical" if lost and not redefined else "warning",
            loss,
            f"{loss.tag} jumped from {number(float(np.median(before)))} to {number(float(np.median(after)))} "
            f"(+{percent(share)}) at the resume at step {restart:,}"
            + (", but its parts did not: it has been computed differently since then." if redefined else "."),
            first_step=int(restart),
            last_step=int(steps[min(len(steps) - 1, at + 12)]),
            evidence=[Evidence(loss.tag, "jump in standard errors", float(errors), limit, int(restart))],
        )


def _stays(after: Floats, before: float) -> bool:
    """Whether the loss is still far above what it was when the run ends."""
    jump = float(np.median(after[:12])) - before
    return len(after) >= 24 and float(np.median(after[-12:])) > before + 0.5 * jump


def _parts_stayed(case: Case, restart: int) -> bool:
    """Whether parts of the loss are logged, and none of them rose with it."""
    moves = []
    for part in case.every("loss.components"):
        steps, values = part.points()
        at = int(np.searchsorted(steps, restart))
        before, after = values[max(0, at - 24) : at], values[at : at + 12]
        if len(before) >= 12 and len(after) >= 8 and np.median(before) > 0:
            moves.append(float(np.median(after) / np.median(before)))
    return bool(moves) and max(moves) < 1 + _MOVED
