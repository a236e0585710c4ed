"""Validation below training: the model does better on unseen data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.track import Floats, Ints, Track


@detector(id="val-below-train", reads=("train.loss", "val.loss"))
def val_below_train(case: Case) -> Iterator[Finding]:
    """Info, since dropout and augmentation have this effect; a warning if the config says that dropout is 0."""
    train = case.need("train.loss", points=16)
    steps, values = train.points(most=512)
    limit = case.limit("val-below-train", "share")
    below: list[tuple[float, Track, int]] = []
    for track in case.every("val.loss"):
        at, losses = track.points(most=256)
        later = at >= steps[len(steps) // 2]
        if later.sum() < 4:
            continue
        near = _around(at, steps, values)[later]
        shares = (near - losses[later]) / np.maximum(np.abs(near), 1e-12)
        share = float(np.median(shares))
        # One of several sets may simply be easier; that says nothing about the training.
        if share < limit or float((shares > 0).mean()) < 0.95:
            return
        below.append((share, track, int(at[later][0])))
    if not below:
        return
    share, track, first_step = below[0]
    yield case.finding(
        "val-below-train",
        "warning"
        if case.context.dropout == 0.0 and share >= case.limit("val-below-train", "warning_share")
        else "info",
        track,
        f"{track.tag} is {100 * share:.0f} % below {train.tag} in the second half of the run.",
        first_step=first_step,
        evidence=[Evidence(track.tag, "share below the training loss", share, limit, track.last_step)],
    )


def _around(at: Ints, steps: Ints, values: Floats) -> Floats:
    """The mean training loss around each evaluation, halfway to its neighbors: one batch is too noisy."""
    half = max(1.0, float(np.median(np.diff(at))) / 2)
    near = [values[np.abs(steps - step) <= half] for step in at]
    return np.array(
        [part.mean() if len(part) else np.interp(step, steps, values) for step, part in zip(at, near, strict=True)]
    )
