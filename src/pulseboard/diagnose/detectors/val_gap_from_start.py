"""Validation gap from the start: validation is far above training before anything could be memorised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.statistics.noise import noise_scale
from pulseboard.diagnose.track import Track


@detector(id="val-gap-from-start", reads=("train.loss", "val.loss"))
def val_gap_from_start(case: Case) -> Iterator[Finding]:
    """The first evaluations against the training loss around the same steps, on the set where they are nearest.

    One set may honestly be harder than the others; a fault of the evaluation is in all of them.
    """
    train = case.need("train.loss", points=16)
    gaps = [(gap, track) for track in case.every("val.loss") if (gap := _gap(case, train, track)) is not None]
    if not gaps:
        return
    gap, track = min(gaps, key=lambda pair: pair[0].share)
    limit = case.limit("val-gap-from-start", "share")
    if gap.errors < case.limit("val-gap-from-start", "errors") or gap.share < limit:
        return
    yield case.finding(
        "val-gap-from-start",
        "warning",
        track,
        f"{track.tag} is {gap.loss:.4g} at step {gap.step} where {train.tag} is {gap.beside:.4g}: too early to "
        "be memory.",
        first_step=gap.step,
        evidence=[Evidence(track.tag, "gap as a share of the training loss", gap.share, limit, gap.step)],
    )


class _Gap(NamedTuple):
    loss: float
    beside: float  # the training loss around the same step
    step: int
    share: float
    errors: float  # the gap in standard errors


def _gap(case: Case, train: Track, track: Track) -> _Gap | None:
    """The last of the evaluations early in the run that has training losses around it."""
    steps, values = train.points()
    at, losses = track.points()
    span = case.planned_steps or int(steps[-1])
    early = (at <= steps[0] + case.limit("val-gap-from-start", "share_of_run") * span) & (at > steps[0])
    for step, loss in zip(at[early][::-1].tolist(), losses[early][::-1].tolist(), strict=True):
        near = np.abs(steps - step) <= 0.02 * span + 1
        if near.sum() >= 3:
            beside = float(np.median(values[near]))
            error = 1.25 * max(noise_scale(values) / np.sqrt(near.sum()), 1e-9)
            return _Gap(loss, beside, step, (loss - beside) / abs(beside) if beside else 0.0, (loss - beside) / error)
    return None
