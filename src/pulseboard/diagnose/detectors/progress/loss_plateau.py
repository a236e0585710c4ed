"""Loss plateau: the loss has stopped falling while the learning rate is still high."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.regime import may_rise, regime
from pulseboard.diagnose.facts.schedule import rate_is_high
from pulseboard.diagnose.facts.scores import AREAS, accuracies, nearly_perfect, never_improved, scale_of, score_of
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.phrases import count, digits_of, number, percent
from pulseboard.diagnose.roles.quantity import quantity_of
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.stats.noise import noise_scale, running_median
from pulseboard.diagnose.stats.trend import Trend, trend
from pulseboard.diagnose.track import Floats, Points, Track

SLUG = "loss-plateau"
# A training loss and an accuracy that move by less stand still, too.
_STILL_MOVES, _STILL_SCORE = 0.01, 0.02
_LEAST_DIGITS = 3
# A validation loss that falls by this share of its level still improves.
_STILL_FALLS = 0.03
# Two series of one loss end within this share of each other.
_SAME_LEVEL = 0.03
_RISE_OF_AREA = 0.08
# The first third of a plateau is above the last by no more than this share.
_LEVEL = 0.1


@detector(id=SLUG, reads="train.loss")
def loss_plateau(case: Case) -> Iterator[Finding]:
    """Info, since good runs end like this too; a warning if it began early and high, or above earlier runs."""
    stuck = _stuck(case)
    if stuck is not None:
        yield stuck
        return
    loss = case.need("train.loss", points=20)
    steps, values = loss.points(most=512)
    n = len(values)
    whole = loss_course(case).value
    assert whole is not None
    # One loss may be logged at every step and at evaluations; the first value of any of them is the start.
    start, level = max(whole.start, _first_elsewhere(case, loss)), float(np.median(values[-max(5, n // 5) :]))
    # A loss that never clearly fell is flat, or was good from the start.
    fallen = start - level
    if fallen < case.limit(SLUG, "fallen") * abs(start) or fallen < 4 * whole.error:
        return
    began = _plateau_start(values, level)
    length = (n - began) / n
    part = Points(steps[began:], values[began:])
    if length < case.limit(SLUG, "share_of_run") or rate_is_high(case, int(part.steps[0])) is False:
        return
    line = trend(part)
    if line is None or _falls(line, level, p=case.limit(SLUG, "p")) or not _is_level(part.values):
        return
    away = case.departure("train.loss")
    # A loss that was good from the start has little to gain: it must have learned something before it got stuck.
    learned = fallen >= case.limit(SLUG, "learned") * abs(start)
    high = learned and level > case.limit(SLUG, "severe_level") * start
    severe = (away is not None and away.above and away.lasting) or (
        not _high_by_nature(case)
        and not case.starts_late
        and not nearly_perfect(case)
        and not _falls(line, level, p=case.limit(SLUG, "may_fall"))
        and not _validation_improves(case, int(part.steps[0]))
        and not _score_learned(case)
        and (
            (
                length >= case.limit(SLUG, "severe_share_of_run")
                and high
                and n >= case.patient(case.limit(SLUG, "points"))
            )
            or (
                length >= case.limit(SLUG, "share_without_score")
                and n >= case.patient(20)
                and _scores_stand_still(case)
            )
        )
    )
    yield case.finding(
        SLUG,
        "warning" if severe else "info",
        loss,
        f"{loss.tag} has been at about {number(level)} since step {part.steps[0]:,}, {percent(length)} of the run"
        + (f"; it started at {number(start)}." if severe else "."),
        first_step=int(part.steps[0]),
        evidence=[Evidence(loss.tag, "share of the run without a fall", length, None, int(part.steps[0]))],
    )


def _stuck(case: Case) -> Finding | None:
    """Evaluations that stop moving early, at a high level, like the training loss: the weights hardly change."""
    curve, whole = objective(case).value, loss_course(case).value
    evaluations = int(case.limit(SLUG, "evaluations"))
    curves = validation_curves(case, points=evaluations)
    if curve is None or whole is None or not curves or not case.finished or may_rise(case) or _high_by_nature(case):
        return None
    values = curves[0].points.values
    level = abs(float(np.median(values)))
    still = [i for i in range(len(values)) if float(np.ptp(values[i:])) <= case.limit(SLUG, "still") * level]
    least = max(evaluations - 1, case.limit(SLUG, "severe_share_of_run") * len(values))
    if not still or len(values) - still[0] < least or digits_of(float(values[-1])) < _LEAST_DIGITS:
        return None
    step = int(curves[0].points.steps[still[0]])
    later = curve.points.values[curve.points.steps >= step]
    edge = max(1, len(later) // 3)
    before = max(float(curve.points.values[0]), float(values[0]))
    if len(later) < evaluations - 1 or level < case.limit(SLUG, "high") * before:
        return None
    moved = abs(float(np.median(later[:edge]) - np.median(later[-edge:])))
    if moved > max(_STILL_MOVES * level, whole.noise) or before - level < case.limit(SLUG, "fallen") * before:
        return None
    if any(float(np.ptp(_since(track, step))) * scale_of(track) > _STILL_SCORE for track in accuracies(case)):
        return None
    return case.finding(
        SLUG,
        "warning",
        curves[0].tag,
        f"{curves[0]} has been at {number(float(values[-1]))} for {count(len(values) - still[0], 'evaluation')}, and "
        f"{curve} does not move either: the weights hardly change.",
        first_step=step,
        evidence=[
            Evidence(curves[0].tag, "share of the evaluations that are equal", 1 - still[0] / len(values), None, step)
        ],
    )


def _since(track: Track, step: int) -> Floats:
    steps, values = track.points(most=256)
    return values[steps >= step] if (steps >= step).any() else values[-1:]


def _first_elsewhere(case: Case, loss: Track) -> float:
    """The first value of the same loss under another name, at the same step or before; minus infinity if none."""
    quantity = quantity_of(loss.tag)
    alike = [
        track
        for track in case.every("train.loss")[1:]
        if (other := quantity_of(track.tag)) is not None
        and quantity is not None
        and other.part == quantity.part == "whole"
        and track.tag not in case.reading.maximized
        and (track.first_step or 0) <= (loss.first_step or 0)
        and _meet(track, loss)
    ]
    return max((float(track.head.values[0]) for track in alike if len(track)), default=-np.inf)


def _meet(one: Track, other: Track) -> bool:
    """Whether two series end at about the same level."""
    a, b = (float(np.median(track.tail.values[-5:])) for track in (one, other))
    return abs(a - b) <= _SAME_LEVEL * max(abs(a), abs(b))


def _plateau_start(values: Floats, level: float) -> int:
    """The first point after which the running median stays within noise of the final level."""
    width = max(3, len(values) // 20)
    smooth = running_median(values, width)
    error = 3 * max(1.25 * noise_scale(values) / np.sqrt(width), 2e-3 * abs(level))
    away = np.flatnonzero(np.abs(smooth - level) > error)
    return int(away[-1]) + 1 if len(away) else 0


def _is_level(values: Floats) -> bool:
    """Whether the last third is as high as the first, relative to itself: a loss near zero may still halve."""
    first, *_, last = (part for part in np.array_split(values, 3))
    if len(first) < 2:
        return True
    levels = float(np.median(first)), float(np.median(last))
    error = 2.5 * noise_scale(values) / np.sqrt(len(first))
    return bool(levels[0] - levels[1] <= max(_LEVEL * abs(levels[1]), error))


def _falls(line: Trend, level: float, *, p: float) -> bool:
    """Clearly, and by a relevant amount."""
    return line.p_falling < p and line.start - line.end > 0.02 * abs(level)


def _validation_improves(case: Case, since: int) -> bool:
    """Whether a validation loss keeps falling: then the model learns, and the noise of training hides it."""
    for curve in validation_curves(case, points=4):
        later = curve.points.values[curve.points.steps >= since]
        if len(later) >= 3 and float(later[0] - later[-1]) > _STILL_FALLS * abs(float(later[0])):
            return True
    return False


def _score_learned(case: Case) -> bool:
    """Whether an area under the curve or another score that chance keeps low has clearly risen.

    Clicks and other rare events are never certain: their loss falls only a little, and that is all there is to learn.
    """
    for track in case.every("val.accuracy"):
        score = score_of(track) if words_of(track.tag).rest & AREAS else None
        if score is not None and score.course.gain > max(_RISE_OF_AREA, 4 * score.course.error) and score.holds:
            return True
    return False


def _scores_stand_still(case: Case) -> bool:
    """Whether accuracies are logged and none of them has risen."""
    long = [track for track in accuracies(case) if track.finite_count >= 5]
    return bool(long) and all(never_improved(track, evaluations=5) is not None for track in long)


def _high_by_nature(case: Case) -> bool:
    """Whether the loss has an unknown floor far above zero: predicting noise, or a moving target."""
    return bool((regime(case).value or frozenset()) & {"moving-target", "diffusion"})
