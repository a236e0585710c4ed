"""Epoch staircase: the loss drops at the start of each epoch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.stats.noise import noise_scale


@detector(id="epoch-staircase", reads=("train.loss", "epoch"))
def epoch_staircase(case: Case) -> Iterator[Finding]:
    """A sudden drop, beyond the noise and the run's own slope, at two or more epoch boundaries."""
    loss, epoch = case.need("train.loss", points=64), case.need("epoch", points=8)
    steps, values = loss.points()
    epochs = np.floor(epoch.points().values + 1e-9)
    boundaries = epoch.points().steps[np.flatnonzero(np.diff(epochs) > 0) + 1]
    scale = noise_scale(values)
    if not len(boundaries) or scale <= 0:
        return
    reach = 8
    drops = []
    for boundary in boundaries:
        at = int(np.searchsorted(steps, boundary))
        if at < 2 * reach or at + reach > len(values):
            continue
        before, after = values[at - reach : at], values[at : at + reach]
        slope = (float(values[at - 2 * reach : at - reach].mean()) - float(before.mean())) / reach
        drop = float(before.mean() - after.mean()) - slope * reach
        drops.append((drop / (scale * np.sqrt(2 / reach)), int(boundary), drop))
    limit = case.limit("epoch-staircase", "t")
    clear = [drop for drop in drops if drop[0] > limit]
    if len(clear) < 2 or len(clear) < 0.5 * len(drops):
        return
    yield case.finding(
        "epoch-staircase",
        "info",
        loss,
        f"{loss.tag} drops by {np.median([d[2] for d in clear]):.3g} at the start of {len(clear)} of "
        f"{len(drops)} epochs, a sign of memorization.",
        first_step=clear[0][1],
        evidence=[Evidence(loss.tag, "drop in standard errors", float(clear[0][0]), limit, clear[0][1])],
    )
