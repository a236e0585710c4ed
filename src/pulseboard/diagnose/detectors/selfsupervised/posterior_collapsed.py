"""Posterior collapsed: the latent code of an autoencoder no longer depends on its input."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.regime import regime
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.stats.course import centered_median

SLUG = "posterior-collapsed"


@detector(id=SLUG, reads="vae.kl")
def posterior_collapsed(case: Case) -> Iterator[Finding]:
    """The divergence from the prior has fallen to almost 0, and stays there."""
    track = case.need("vae.kl", points=int(case.patient(case.limit(SLUG, "points"))))
    if "variational" not in (regime(case).value or frozenset()) or track.low < 0:
        return
    steps, values = track.points(most=256)
    level = centered_median(values, 3)
    peak_at, end = int(np.argmax(level)), float(np.quantile(values[-max(3, len(values) // 4) :], 0.75))
    peak = float(level[peak_at])
    share = case.limit(SLUG, "share")
    if peak_at > len(values) // 2 or end > case.limit(SLUG, "nothing") or end > share * peak:
        return
    since = int(steps[peak_at + int(np.argmax(level[peak_at:] <= max(2 * end, share * peak)))])
    yield case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} fell from {number(peak)} to {number(end)}: the code says next to nothing about the input.",
        first_step=since,
        evidence=[Evidence(track.tag, "level relative to its highest", end / peak, share, int(steps[-1]))],
    )
