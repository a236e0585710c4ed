"""Out of expected range: a metric is outside the range of the profile, or of earlier runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.histograms import humps, of_weights
from pulseboard.diagnose.phrases import count, number
from pulseboard.diagnose.profile import Expected


@detector(id="out-of-expected-range", reads="train.loss|val.loss|loss.levels|moe.aux_loss|histograms")
def out_of_expected_range(case: Case) -> Iterator[Finding]:
    """Latest values compared with the profile's ranges. Info: a profile describes its own models.

    A loss that ends above earlier runs of the same task is a warning.
    """
    yield from _unlike_earlier(case)
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
                f"{tag} is {number(level)}, in the {bad.kind} range of the {case.profile.name} profile.",
                evidence=[Evidence(tag, "latest value", level, near, track.last_step, on_curve=True)],
            )
            continue
        stage = _stage(metric.stages, progress)
        if stage is not None and not stage.low <= level <= stage.high:
            yield case.finding(
                "out-of-expected-range",
                "info",
                track,
                f"{tag} is {number(level)}; at this stage the {case.profile.name} profile expects {stage.low:g} to "
                f"{stage.high:g}.",
                evidence=[
                    Evidence(
                        tag,
                        "latest value",
                        level,
                        stage.low if level < stage.low else stage.high,
                        track.last_step,
                        on_curve=True,
                    )
                ],
            )
    yield from _two_humps(case)


def _unlike_earlier(case: Case) -> Iterator[Finding]:
    """Metrics that left the range of earlier runs."""
    for role in ("train.loss", "val.loss", "gradient.norm", "update.ratio"):
        away, track = case.departure(role), case.one(role)
        if away is None or track is None:
            continue
        side = "above" if away.above else "below"
        yield case.finding(
            "out-of-expected-range",
            "warning" if away.above and away.lasting and role.endswith("loss") else "info",
            track,
            f"{track.tag} is {side} the range of {count(away.runs, 'earlier run')} from step {away.first_x:.0f} to "
            f"{away.last_x:.0f}: {number(away.level)} compared with {number(away.middle)}.",
            first_step=round(away.first_x),
            last_step=round(away.last_x),
            evidence=[Evidence(track.tag, "level, compared with earlier runs", away.level, away.middle, on_curve=True)],
        )


def _two_humps(case: Case) -> Iterator[Finding]:
    """Weight histograms that split from one peak into two, which can be a sign of instability."""
    for tag, found in of_weights(case):
        if len(found) >= 3 and humps(found[0]) == 1 and all(humps(one) >= 2 for one in found[-2:]):
            yield case.finding(
                "out-of-expected-range",
                "info",
                tag,
                f"The histogram of {tag} had one peak at first and has two now.",
                first_step=found[-2].step,
                last_step=found[-1].step,
                evidence=[Evidence(tag, "peaks", humps(found[-1]), 1, found[-1].step)],
            )
            return


def _stage(stages: tuple[Expected, ...], progress: float | None) -> Expected | None:
    """The stage that the run is at, if the profile describes one near it."""
    if progress is None:
        return None
    reached = [stage for stage in stages if abs(progress - stage.progress) <= 0.02]
    return reached[-1] if reached else None
