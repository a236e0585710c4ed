"""Weights frozen: gradients are non-zero, but the weights do not change."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.histograms import of_weights, same


@detector(id="weights-frozen", reads="update.ratio|histograms")
def weights_frozen(case: Case) -> Iterator[Finding]:
    """Updates of exactly 0 at several points in a row, with gradients above 0 if they are logged; or weights whose
    histograms never change."""
    least = case.limit("weights-frozen", "in_a_row")
    update = case.one("update.ratio")
    if update is None:
        yield from _by_histograms(case, least)
        return
    still = update.longest_streak
    if still is None or still.value != 0.0 or still.length < least:
        return
    gradient = case.one("gradient.norm")
    if gradient is not None and gradient.high <= 0.0:
        return
    yield case.finding(
        "weights-frozen",
        "critical",
        update,
        f"{update.tag} is exactly 0 at {still.length} points in a row from step {still.first_step:,}: the model is not "
        "learning.",
        first_step=still.first_step,
        last_step=still.last_step,
        evidence=[Evidence(update.tag, "points in a row without an update", still.length, least, still.first_step)],
    )


def _by_histograms(case: Case, least: float) -> Iterator[Finding]:
    layers = {tag: found for tag, found in of_weights(case) if len(found) >= least}
    still = [tag for tag, found in layers.items() if all(same(found[0], other) for other in found[1:])]
    if not still or case.context.frozen_on_purpose:
        return
    all_of_them = len(still) == len(layers)
    yield case.finding(
        "weights-frozen",
        "critical" if all_of_them else "info",
        still[0],
        f"The histograms of {len(still)} of {len(layers)} weight tensors never change, for example {still[0]}.",
        evidence=[Evidence(still[0], "share of weight tensors that never change", len(still) / len(layers), 0.0)],
    )
