"""Prediction poor: predictions are far from their targets late in training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="prediction-poor", reads="prediction.cosine")
def prediction_poor(case: Case) -> Iterator[Finding]:
    """Late in training, a cosine below what a good predictor reaches early. Info unless every level is near 0."""
    last_step = (case.steps or (0, 0))[1]
    progress = case.progress(last_step)
    if progress is not None and progress < case.limit("prediction-poor", "progress"):
        return
    poor, bad = case.limit("prediction-poor", "cosine"), case.limit("prediction-poor", "severe_cosine")
    tracks = [track for track in case.every("prediction.cosine") if track.finite_count >= 8]
    levels = {track.tag: float(np.median(track.points(most=256).values[-5:])) for track in tracks}
    low = {tag: level for tag, level in levels.items() if level < poor}
    if not low:
        return
    worst = min(low, key=lambda tag: low[tag])
    yield case.finding(
        "prediction-poor",
        "warning" if max(levels.values()) < bad else "info",
        worst,
        f"{worst} is only {low[worst]:.2f} late in training; good predictions are above {poor:g}.",
        evidence=[Evidence(worst, "latest value", low[worst], poor, last_step, on_curve=True)],
    )
