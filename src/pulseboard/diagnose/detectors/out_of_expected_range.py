"""Out of expected range: a metric is outside of what the profile expects at this stage."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.histograms import humps, of_weights
from pulseboard.diagnose.profile import Expected


@detector(id="out-of-expected-range", reads="train.loss|val.loss|loss.levels|moe.aux_loss|histograms")
def out_of_expected_range(case: Case) -> Iterator[Finding]:
    """Bands and stages of the profile against the latest values. Info: guides speak of their own models."""
    last_step = (case.steps or (0, 0))[1]
    progress = case.progress(last_step)
    for tag, track in case.tracks.items():
        metric = case.profile.metric(tag)
        if metric is None or len(track) < 3:
            continue
        metric = metric.fitted(choices=case.context.choices, dimension=case.context.dimension)
        values = track.points(most=256).values
        if not len(values):
            continue
        level = float(np.median(values[-5:]))
        bands = sorted((b for b in metric.bands if b.kind != "healthy"), key=lambda b: b.kind != "critical")
        bad = next((b for b in bands if b.low <= level <= b.high), None)
        healthy = [b for b in metric.bands if b.kind == "healthy"]
        if bad is not None and not any(b.low <= level <= b.high for b in healthy):
            near = bad.high if bad.low == float("-inf") else bad.low
            yield case.finding(
                "out-of-expected-range",
                "info",
                track,
                f"{tag} is {level:.3g}, in the {bad.kind} range of the {case.profile.name} profile.",
                evidence=[Evidence(tag, "latest level", level, near, track.last_step)],
            )
            continue
        stage = _stage(metric.stages, progress)
        if stage is not None and not stage.low <= level <= stage.high:
            yield case.finding(
                "out-of-expected-range",
                "info",
                track,
                f"{tag} is {level:.3g}; at this stage the {case.profile.name} profile expects {stage.low:g} to "
                f"{stage.high:g}.",
                evidence=[
                    Evidence(
                        tag, "latest level", level, stage.low if level < stage.low else stage.high, track.last_step
                    )
                ],
            )
    yield from _two_humps(case)


def _two_humps(case: Case) -> Iterator[Finding]:
    """Weights that were one bell and have come apart: guides name it a sign of instability."""
    for tag, found in of_weights(case):
        if len(found) >= 3 and humps(found[0]) == 1 and all(humps(one) >= 2 for one in found[-2:]):
            yield case.finding(
                "out-of-expected-range",
                "info",
                tag,
                f"{tag} was one bell at first and has two humps now.",
                first_step=found[-2].step,
                last_step=found[-1].step,
                evidence=[Evidence(tag, "humps", humps(found[-1]), 1, found[-1].step)],
            )
            return


def _stage(stages: tuple[Expected, ...], progress: float | None) -> Expected | None:
    """The stage that the run has reached and is near to."""
    if progress is None:
        return None
    reached = [stage for stage in stages if abs(progress - stage.progress) <= 0.02]
    return reached[-1] if reached else None
