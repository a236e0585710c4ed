"""Quantile stuck: one band of noise levels does not get better while the others do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.statistics.noise import noise_scale


@detector(id="quantile-stuck", reads="loss.quantiles")
def quantile_stuck(case: Case) -> Iterator[Finding]:
    """The fall of each band as a share, against the median of all bands of its data set."""
    sets: dict[str, dict[str, tuple[float, float]]] = {}
    for track in case.every("loss.quantiles"):
        values = track.points(most=256).values
        if len(values) < case.limit("quantile-stuck", "evaluations"):
            continue
        first, last = float(values[0]), float(np.median(values[-3:]))
        error = noise_scale(values) / max(abs(first), 1e-12)
        fall = (first - last) / first if first > 0 else 0.0
        sets.setdefault(track.tag.rsplit("loss_quantile", 1)[0], {})[track.tag] = (fall, error)
    for bands in sets.values():
        falls = np.array([fall for fall, _ in bands.values()])
        usual = float(np.median(falls))
        if len(bands) < 3 or usual < case.limit("quantile-stuck", "others_fall"):
            continue
        limit = case.limit("quantile-stuck", "share_of_others") * usual
        stuck = {tag: fall for tag, (fall, error) in bands.items() if fall < limit and usual - fall > 4 * error}
        if not stuck or len(stuck) > len(bands) / 2:
            continue
        worst = min(stuck, key=lambda tag: stuck[tag])
        yield case.finding(
            "quantile-stuck",
            "warning",
            worst,
            f"{worst} fell by {100 * stuck[worst]:.0f} % while the other bands fell by {100 * usual:.0f} %.",
            evidence=[Evidence(worst, "fall as a share of its start", stuck[worst], limit)],
        )
