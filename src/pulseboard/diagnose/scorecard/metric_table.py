"""Each logged metric next to the document's limits, and its milestones stage by stage."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.profile import Band, Expected, Profile, ProfileMetric
from pulseboard.diagnose.scorecard.curves import present, value_near
from pulseboard.diagnose.scorecard.footnotes import RANGE, STAGES, measured_note
from pulseboard.diagnose.scorecard.progress import progress_of, reached, step_of, total_steps
from pulseboard.diagnose.scorecard.rows import Grade, MetricRow, Side, StageCell, StageRow, StageVerdict
from pulseboard.diagnose.track import Track

# A milestone that the document gives as one number counts as met within this share of it.
_ABOUT = 0.25
# The present value is compared with a stage while the run is this close to it.
_AT_STAGE = 0.02
_GRADES: dict[str, Grade] = {"healthy": "ok", "warning": "warning", "critical": "critical"}


def metric_rows(case: Case) -> Iterator[MetricRow]:
    """A row for each series that the profile describes, in the profile's order."""
    for metric, track in _described(case):
        yield _metric_row(metric, track, case)


def stage_rows(case: Case) -> Iterator[StageRow]:
    """A row for each metric with milestones, whether it is logged or not."""
    for metric in case.profile.metrics:
        if metric.stages:
            tracks: list[Track | None] = [
                track for tag, track in case.tracks.items() if case.profile.metric(tag) is metric
            ]
            for track in tracks or [None]:
                cells = tuple(_cell(stage, track, metric, case) for stage in metric.stages)
                notes = _stage_notes(metric, case) if track is not None else ()
                if any(cell.verdict in ("below", "above") for cell in cells):
                    notes += measured_note(case.profile.name, metric.tag, STAGES)
                yield StageRow(track.tag if track is not None else metric.tag, cells, notes)


def missing_tags(case: Case, logged: Iterable[str]) -> tuple[str, ...]:
    """What the document lists and the run does not log."""
    logged = {*case.tracks, *logged}
    return tuple(metric.tag for metric in case.profile.metrics if not any(metric.matches(tag) for tag in logged))


def range_text(low: float, high: float) -> str:
    """A range as people write it."""
    if low == high:
        return number(low)
    if low == -math.inf:
        return f"below {number(high)}"
    return f"above {number(low)}" if high == math.inf else f"{number(low)} to {number(high)}"


def _described(case: Case) -> Iterator[tuple[ProfileMetric, Track]]:
    order = {id(metric): i for i, metric in enumerate(case.profile.metrics)}
    found = [(metric, track) for tag, track in case.tracks.items() if (metric := case.profile.metric(tag)) is not None]
    yield from sorted(found, key=lambda pair: (order[id(pair[0])], pair[1].tag))


def _metric_row(metric: ProfileMetric, track: Track, case: Case) -> MetricRow:
    fitted = metric.fitted(choices=case.context.choices, dimension=case.context.dimension)
    value = present(track)
    verdict, grade = _verdict(fitted.bands, value, case.profile)
    stage = _stage_now(fitted.stages, case)
    expected_now = _document_value(stage) if stage is not None else ""
    if stage is not None and grade in (None, "ok") and math.isfinite(value):
        side = _side(stage, value)
        verdict = verdict or ("as expected at this stage" if side == "inside" else f"{side} the range of this stage")
        if side != "inside":
            verdict, grade = f"{side} the range of this stage", "info"
        else:
            grade = grade or "ok"
    if not math.isfinite(value) and len(track):
        verdict, grade = "not a finite number", "critical"
    bad = grade in ("info", "warning", "critical")
    notes = [metric.note] if metric.note and bad else []
    if bad and metric.bands:
        notes += measured_note(case.profile.name, metric.tag, RANGE)
    if metric.dimension and metric.bands:
        notes.append(_dimension_note(metric, case))
    return MetricRow(
        tag=track.tag,
        meaning=metric.meaning,
        unit=metric.unit,
        value=value if len(track) else None,
        step=track.last_step,
        expected=metric.expected,
        limits=tuple(f"{case.profile.word(band.kind)} {range_text(band.low, band.high)}" for band in fitted.bands),
        stage=expected_now,
        verdict=verdict,
        grade=grade,
        signs=metric.warning_signs if bad else (),
        notes=tuple(notes),
    )


def _verdict(bands: tuple[Band, ...], value: float, profile: Profile) -> tuple[str, Grade]:
    if not bands or not math.isfinite(value):
        return "", None
    # A value on the border of two ranges belongs to the better one.
    for kind, grade in _GRADES.items():
        if any(band.kind == kind and band.low <= value <= band.high for band in bands):
            return profile.word(kind), grade
    kinds = [kind for kind in _GRADES if any(band.kind == kind for band in bands)]
    if len(kinds) == 1:
        only = profile.word(kinds[0])
        return (f"not {only}", "info") if kinds[0] == "healthy" else ("", "ok")
    near = _neighbors(bands, value)
    # The document leaves gaps between its ranges; the milder neighbor decides how the row counts.
    words = " and ".join(profile.word(kind) for kind in near)
    return (f"between {words}", "info") if len(near) > 1 else (f"not {words}", "info")


def _neighbors(bands: tuple[Band, ...], value: float) -> list[str]:
    """The kinds of the ranges next to a value that is in none, mildest first."""
    below = max((band for band in bands if band.high < value), key=lambda band: band.high, default=None)
    above = min((band for band in bands if band.low > value), key=lambda band: band.low, default=None)
    kinds = {band.kind for band in (below, above) if band is not None}
    return [kind for kind in _GRADES if kind in kinds]


def _stage_now(stages: tuple[Expected, ...], case: Case) -> Expected | None:
    progress = progress_of(case)
    if progress is None:
        return None
    return next((stage for stage in reversed(stages) if abs(stage.progress - progress) <= _AT_STAGE), None)


def _cell(stage: Expected, track: Track | None, metric: ProfileMetric, case: Case) -> StageCell:
    by_step = math.isnan(stage.progress)
    step, total = step_of(stage, case), total_steps(case)
    when = f"step {stage.step:,}" if by_step else f"{100 * stage.progress:.3g} %"
    value: float | None = None
    verdict: StageVerdict = "not logged"
    if step is None or not reached(step, case):
        verdict = "not reached"
    elif track is not None:
        value = value_near(track, step, total_steps=total or (case.steps or (0, 1))[1])
        if value is not None:
            verdict = _side(stage, value)
            applies = metric.fitted(choices=case.context.choices, dimension=case.context.dimension).stages
            if not applies and verdict != "inside":
                verdict = "other model"
    return StageCell(when, step or 0, _document_value(stage), value, verdict)


def _stage_notes(metric: ProfileMetric, case: Case) -> tuple[str, ...]:
    if metric.choices and not metric.fitted(choices=case.context.choices, dimension=case.context.dimension).stages:
        own = f"{case.context.choices:,}" if case.context.choices else "an unknown number"
        return (f"written for a vocabulary of about {metric.choices:,}; this run has {own}, so losses differ (≠)",)
    return (metric.note,) if metric.note else ()


def _side(stage: Expected, value: float) -> Side:
    low, high = stage.low, stage.high
    if stage.value is not None and low == -math.inf and high == math.inf:
        around = max(_ABOUT * abs(stage.value), 1e-3)
        low, high = stage.value - around, stage.value + around
    return "below" if value < low else "above" if value > high else "inside"


def _document_value(stage: Expected) -> str:
    # A value of the document's own run, or a value without a range.
    if stage.value is not None and (stage.step is not None or stage.low == -math.inf):
        return f"about {number(stage.value)}"
    return range_text(stage.low, stage.high)


def _dimension_note(metric: ProfileMetric, case: Case) -> str:
    if case.context.dimension:
        return f"written for {metric.dimension} dimensions; scaled to the {case.context.dimension} of this run"
    return f"written for {metric.dimension} dimensions; the config does not say how many this run has (embedding_dim)"
