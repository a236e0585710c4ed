"""Validation gap from the start: validation is far above training before anything could be memorised."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.statistics.noise import noise_scale


@detector(id="val-gap-from-start", reads=("train.loss", "val.loss"))
def val_gap_from_start(case: Case) -> Iterator[Finding]:
    """The first evaluations against the training loss around the same steps."""
    train = case.need("train.loss", points=16)
    steps, values = train.points()
    scale = noise_scale(values)
    span = case.planned_steps or int(steps[-1])
    for track in case.every("val.loss"):
        at, losses = track.points()
        early = (at <= steps[0] + case.limit("val-gap-from-start", "share_of_run") * span) & (at > steps[0])
        gaps = []
        for step, loss in zip(at[early], losses[early], strict=True):
            near = np.abs(steps - step) <= 0.02 * span + 1
            if near.sum() >= 3:
                gaps.append((float(loss), float(np.median(values[near])), int(step), int(near.sum())))
        if not gaps:
            continue
        loss, beside, step, count = gaps[-1]
        error = max(scale / np.sqrt(count), 1e-9) * 1.25
        share = (loss - beside) / abs(beside) if beside else 0.0
        limit = case.limit("val-gap-from-start", "share")
        if (loss - beside) / error < case.limit("val-gap-from-start", "errors") or share < limit:
            continue
        yield case.finding(
            "val-gap-from-start",
            "warning",
            track,
            f"{track.tag} is {loss:.4g} at step {step} where {train.tag} is {beside:.4g}: too early to be memory.",
            first_step=step,
            evidence=[Evidence(track.tag, "gap as a share of the training loss", share, limit, step)],
        )
        return
