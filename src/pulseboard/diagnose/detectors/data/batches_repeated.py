"""Batches repeated: the same batches come back within an epoch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent


@detector(id="batches-repeated", reads="data.batch_hash")
def batches_repeated(case: Case) -> Iterator[Finding]:
    """Batch hashes that repeat within an epoch, or within the last points if epochs are not logged."""
    track = case.need("data.batch_hash", points=8)
    steps, values = track.tail if len(track) > len(track.head.steps) else track.head
    epoch = case.one("epoch")
    if epoch is not None and epoch.finite_count >= 2:
        epochs = np.floor(np.interp(steps, *epoch.points(most=2048)) + 1e-9)
        keys = np.stack([epochs, values])
        unique, period = len(np.unique(keys, axis=1).T), "in the same epoch"
    else:
        unique, period = len(np.unique(values)), f"since step {int(steps[0]):,}"
    repeated, limit = 1.0 - unique / len(values), case.limit("batches-repeated", "share")
    if repeated <= limit:
        return
    yield case.finding(
        "batches-repeated",
        "critical",
        track,
        f"{percent(repeated)} of the batches were already seen {period} ({track.tag}).",
        first_step=int(steps[0]),
        evidence=[Evidence(track.tag, "share of repeated batches", repeated, limit)],
    )
