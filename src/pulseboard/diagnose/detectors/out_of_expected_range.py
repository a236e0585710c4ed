"""Out of expected range: a metric is outside of what the profile expects, or of what earlier runs had."""

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
    """Bands and stages of the profile against the latest values. Info: guides speak of their own models.

    Beside earlier runs of the same task a loss that lies above them and does not come back is a warning.
    """
    yield from _beside_earlier(case)
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


def _beside_earlier(case: Case) -> Iterator[Finding]:
    for role in ("train.loss", "val.loss", "gradient.norm", "update.ratio"):
        away, track = case.departure(role), case.one(role)
        if away is None or track is None:
            continue
        where = "above" if away.above else "below"
        yield case.finding(
            "out-of-expected-range",
            "warning" if away.above and away.lasting and role.endswith("loss") else "info",
            track,
            f"{track.tag} lies {where} the band of {away.runs} earlier runs from step {away.first_x:.0f} to "
            f"{away.last_x:.0f}: {away.level:.4g} where they have {away.middle:.4g}.",
            first_step=round(away.first_x),
            last_step=round(away.last_x),
            evidence=[Evidence(track.tag, "level, beside that of earlier runs", away.level, away.middle)],
        )


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
