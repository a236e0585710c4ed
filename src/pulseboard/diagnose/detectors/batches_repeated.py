"""Batches repeated: the same batch again and again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="batches-repeated", reads="data.batch_hash")
def batches_repeated(case: Case) -> Iterator[Finding]:
    """Hashes that come again within an epoch, or within the last points where epochs are not logged."""
    track = case.need("data.batch_hash", points=8)
    steps, values = track.tail if len(track) > len(track.head.steps) else track.head
    epoch = case.one("epoch")
    if epoch is not None and epoch.finite_count >= 2:
        epochs = np.floor(np.interp(steps, *epoch.points(most=2048)) + 1e-9)
        keys = np.stack([epochs, values])
        unique = len(np.unique(keys, axis=1).T)
    else:
        unique = len(np.unique(values))
    repeated, limit = 1.0 - unique / len(values), case.limit("batches-repeated", "share")
    if repeated <= limit:
        return
    yield case.finding(
        "batches-repeated",
        "critical",
        track,
        f"{100 * repeated:.0f} % of the batches were seen before in the same epoch ({track.tag}).",
        first_step=int(steps[0]),
        evidence=[Evidence(track.tag, "share of repeated batches", repeated, limit)],
    )
