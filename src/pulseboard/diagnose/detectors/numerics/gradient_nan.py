"""Gradient NaN: a gradient norm that is NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="gradient-nan", reads="gradient.norm|gradient.layers")
def gradient_nan(case: Case) -> Iterator[Finding]:
    """Uses the norm of the whole model if logged, otherwise the first layer affected."""
    tracks = case.every("gradient.norm")[:1] or case.every("gradient.layers")
    wrong = [track for track in tracks if track.not_finite]
    if not wrong:
        return
    track = min(wrong, key=lambda t: (t.not_finite.first_step or 0, t.tag))
    seen = track.not_finite
    count = seen.nan + seen.inf
    layers = [layer for layer in case.every("gradient.layers") if layer.not_finite]
    first_layer = min(layers, key=lambda t: t.not_finite.first_step or 0).tag if layers else None
    # A loss scaler skips such steps and lowers its scale: that is how it finds the right one.
    skipped = case.one("amp.loss_scale") is not None and seen.in_a_row == 0
    lost = seen.in_a_row > 0 or seen.longest_row >= case.limit("gradient-nan", "in_a_row")
    where = f", first in {first_layer}" if first_layer and first_layer != track.tag else ""
    yield case.finding(
        "gradient-nan",
        "info" if skipped or not lost else "critical",
        track,
        f"{track.tag} is not finite at {count:,} of {len(track):,} points, first at step {seen.first_step:,}{where}"
        + ("; the loss scaler skipped those steps." if skipped else "."),
        first_step=seen.first_step,
        last_step=seen.last_step,
        evidence=[Evidence(track.tag, "points that are not finite", count, 0, seen.first_step)],
    )
