"""Loss flat: the loss has not come down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.learning import ON_HELD_OUT, learning, weights_move
from pulseboard.diagnose.facts.objective import Objective, loss_course, objective
from pulseboard.diagnose.facts.regime import may_rise, regime
from pulseboard.diagnose.facts.schedule import schedule
from pulseboard.diagnose.facts.scores import is_plain_accuracy, scale_of
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.phrases import count, number, percent
from pulseboard.diagnose.quote import quote
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.stats.course import Course
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Floats, Ints, Points

SLUG = "loss-flat"
_ROSE = 0.1  # of all answers
_GOOD = 0.5  # of all answers, at the first evaluation
_MUCH = 0.3  # of the first loss
_POOR = 0.2  # of all answers, at the last evaluations
_STRAIGHT, _FEWEST_RATES = 0.5, 4  # the slowest part of a line relative to the fastest
# Losses of a GAN's generator that no discriminator holds up, and how little they may change in balance.
_NOT_COMPETING = frozenset({"cycle", "cyc", "rec", "recon", "reconstruction", "identity", "idt", "l1", "l2", "pixel"})
_BALANCE = 0.04
_AS_FAST = 0.6  # of the fastest part of a fall, where a loss goes down a straight line


@detector(id=SLUG, reads="train.loss|loss.components|val.loss|gan.loss")
def loss_flat(case: Case) -> Iterator[Finding]:
    """No fall beyond the noise, and no other curve improved. Critical if the weights do not change."""
    if case.starts_late:
        raise TooShort("the log begins long after the training did")
    curve, found = objective(case).value, loss_course(case).value
    if "adversarial" in (regime(case).value or frozenset()) and (balanced := _nothing_moves(case)) is not None:
        yield balanced
        return
    if curve is None or found is None:
        yield from _held_out(
            case, evaluations=int(case.limit(SLUG, "alone_still" if _stands_still(case) else "evaluations_alone"))
        )
        return
    # A second curve that says the same makes up for a few points.
    least = case.limit(SLUG, "points_of_two" if _stands_still(case) else "points")
    if found.points < case.patient(least):
        raise TooShort(f"needs {least:.0f} points of a training loss")
    # Losses that compete may stand still, a loss on held-out data may not.
    if may_rise(case) and "reinforcement" in (regime(case).value or frozenset()):
        return
    if learning(case).value is not False:
        slow = learning(case).value is None and _crawls(case, curve.points, found)
        slow = slow or _all_crawl(case, found)
        if not may_rise(case) and (slow or _has_hardly_begun(case, curve.points, found)):
            yield _crawling(case, curve, found)
        return
    size = abs(found.start)
    fall = found.start - found.end
    # A fall of much of the first loss may be noise, but it is not flat.
    if size <= case.limit(SLUG, "floor") or fall > _MUCH * size or _good_from_the_start(case):
        return
    # As if neighbors were independent: that nothing changed is a claim, and a wide error would make it easy.
    error = found.error / found.widening
    within = max(case.limit(SLUG, "share") * size, 2.5 * error if found.points >= 24 else 0.0)
    rose = fall < 0 and case.finished and bool(validation_curves(case, points=int(case.limit(SLUG, "evaluations"))))
    if may_rise(case) or (abs(fall) > within and not rose) or learning(case).why == ON_HELD_OUT:
        if found.points >= case.patient(case.limit(SLUG, "points_of_noise")) or _stands_still(case):
            yield from _held_out(case, evaluations=int(case.limit(SLUG, "evaluations")))
        return
    if _fell_at_once(case, curve.points, found.end) and float(curve.points.values[0]) - found.end > 4 * found.noise:
        return
    moves = weights_move(case)
    still = moves.value is False
    said = quote(curve.points, found)
    yield case.finding(
        SLUG,
        "critical" if still else "warning",
        curve.tag,
        f"{curve} started at {said.text(said.start)} and is {said.text(said.end)} after {found.points:,} points"
        + (f": the weights do not change ({moves.why})." if still else ": nothing was learned."),
        evidence=[
            Evidence(curve.tag, "fall in standard errors", found.fall_surprise, 3.0),
            Evidence(
                curve.tag, "fall as a share of the start", fall / size if size else 0.0, case.limit(SLUG, "share")
            ),
        ],
    )


def _nothing_moves(case: Case) -> Finding | None:
    """Two networks in balance may stand still, but not with what the generator should bring down by itself."""
    tracks = case.every("gan.loss")
    least = case.patient(case.limit(SLUG, "gan_points"))
    own = [track for track in tracks if words_of(track.tag).rest & _NOT_COMPETING]
    if not own or not case.finished or any(track.finite_count < least for track in tracks):
        return None
    if any(_moved(track.points(most=512).values) for track in tracks):
        return None
    values = own[0].points(most=512).values
    share = float(np.median(values[: len(values) // 4]) / np.median(values[-(len(values) // 4) :])) - 1
    return case.finding(
        SLUG,
        "warning",
        own[0],
        f"{own[0].tag} started at {number(float(values[0]))} and is {number(float(values[-1]))} after "
        f"{count(own[0].finite_count, 'point')}, and no loss of either network has moved.",
        evidence=[Evidence(own[0].tag, "fall as a share of the end", share, case.limit(SLUG, "share"))],
    )


def _moved(values: Floats) -> bool:
    """Whether a loss was ever elsewhere: by quarters, and at its first point."""
    quarters = [float(np.median(part)) for part in np.array_split(values, 4)]
    size = abs(quarters[-1])
    spread = max(quarters) - min(quarters)
    return spread > _BALANCE * size or abs(float(values[0]) - quarters[-1]) > 2 * _BALANCE * size


def _stands_still(case: Case) -> bool:
    """Whether all evaluations of every validation loss are almost equal.

    A model that was good when the log began may stay as it is.
    """
    if any(
        float(track.points(most=8).values[0]) * scale_of(track) > _GOOD
        for track in case.every("val.accuracy")
        if track.finite_count
    ):
        return False
    evaluations = int(case.limit(SLUG, "evaluations"))
    curves = [curve.points.values for curve in validation_curves(case, points=evaluations)]
    limit = case.limit(SLUG, "still")
    return bool(curves) and all(float(np.ptp(values)) < limit * abs(float(np.median(values))) for values in curves)


def _good_from_the_start(case: Case) -> bool:
    """Whether the accuracy is high from the first evaluation to the last: a converged model has little to learn."""
    # An accuracy of something, such as a domain, says nothing about the task.
    scores = [track for track in case.every("val.accuracy") if is_plain_accuracy(track.tag) and track.finite_count >= 3]
    lows = [float(np.quantile(track.points(most=256).values, 0.1)) * scale_of(track) for track in scores]
    return bool(lows) and min(lows) >= case.limit(SLUG, "good")


def _fell_at_once(case: Case, points: Points, end: float) -> bool:
    """Whether the first point is far above the end: the loss fell before the second was logged."""
    return float(points.values[0]) > end * (1 + 5 * case.limit(SLUG, "share"))


def _held_out(case: Case, *, evaluations: int) -> Iterator[Finding]:
    """Where training is not logged or too noisy to tell: no evaluation is better than the first."""
    curves = [
        curve
        for curve in validation_curves(case, points=evaluations)
        if len(np.unique(curve.points.steps)) >= evaluations
    ]
    if not curves:
        raise TooShort(f"needs {evaluations} evaluations")
    if learning(case).value is not False or not case.finished:
        return
    curve = curves[0]
    first, last = (float(np.median(part)) for part in (curve.points.values[:3], curve.points.values[-3:]))
    # One that changed, for better or for worse, is not flat.
    if _fell_at_once(case, curve.points, last) or abs(last - first) > 5 * case.limit(SLUG, "share") * abs(first):
        return
    yield case.finding(
        SLUG,
        "warning",
        curve.tag,
        f"{curve} started at {number(first)} and is {number(last)} after "
        f"{count(len(np.unique(curve.points.steps)), 'evaluation')}: nothing was learned.",
        evidence=[
            Evidence(
                curve.tag,
                "fall as a share of the start",
                (first - last) / max(abs(first), 1e-300),
                case.limit(SLUG, "share"),
            )
        ],
    )


def _crawls(case: Case, points: Points, found: Course) -> bool:
    """Down a straight, clean line, but hardly at all: it would take many such runs to get anywhere."""
    fall = found.start - found.end
    if found.points < case.limit(SLUG, "slow_points") or not 0 < fall < case.limit(SLUG, "slow") * abs(found.start):
        return False
    line = trend(points)
    middle = float(np.median(points.values[len(points.values) // 2 :][: max(3, found.width)]))
    return line is not None and line.p_falling < 1e-6 and found.noise < 0.1 * fall and middle - found.end > 0.35 * fall


def _all_crawl(case: Case, found: Course) -> bool:
    """Whether every validation loss goes down a straight line, but hardly at all, and training by no more.

    Straight relative to the learning rate: half of the rate makes half of the fall.
    """
    curves = validation_curves(case, points=int(case.limit(SLUG, "evaluations")))
    kinds, rate = regime(case).value or frozenset(), schedule(case).value
    limit = case.limit(SLUG, "line" if rate is None else "line_of_rate")
    if not curves or not case.finished or found.points < case.limit(SLUG, "slow_points"):
        return False
    # The loss of a picture has a floor of unknown height, and a usual rate is not the reason for small steps.
    if kinds & {"fine-tuning", "variational"} or (rate is not None and rate.peak > case.limit(SLUG, "usual_rate")):
        return False
    if found.gain > limit * abs(found.start) and found.start - found.end > limit * abs(found.start):
        return False
    if _good_from_the_start(case) or _some_score_rose(case):
        return False
    return all(_is_straight(case, curve, limit) for curve in curves)


def _is_straight(case: Case, curve: Objective, limit: float) -> bool:
    steps, values = curve.points
    first, levels = float(values[0]), [float(np.median(part)) for part in np.array_split(values, 4)]
    way = _learning_rates(case, steps)
    falls = -np.diff(levels) / np.diff([float(np.median(part)) for part in np.array_split(way, 4)])
    return 0 < first - levels[-1] < limit * abs(first) and bool(falls.min() > _STRAIGHT * falls.max() > 0)


def _learning_rates(case: Case, steps: Ints) -> Floats:
    """The sum of all learning rates up to each step, or the step itself if they are not logged."""
    rate = case.one("lr")
    if rate is None or rate.finite_count < _FEWEST_RATES or float(rate.low) < 0 or float(rate.high) <= 0:
        return steps.astype(np.float64)
    at, rates = rate.points(most=1024)
    sums = np.concatenate([[0.0], np.cumsum(0.5 * (rates[1:] + rates[:-1]) * np.diff(at))])
    way = np.interp(steps, at, sums)
    return way if float(np.ptp(way)) > 0 else steps.astype(np.float64)


def _some_score_rose(case: Case) -> bool:
    tracks = [*case.every("val.accuracy"), *case.every("train.accuracy")]
    return any(
        float(np.ptp(track.points(most=256).values)) * scale_of(track) > _ROSE for track in tracks if len(track) >= 4
    )


def _has_hardly_begun(case: Case, points: Points, found: Course) -> bool:
    """A small fall that gets faster and faster: by the end of the run, training has hardly begun."""
    fall, n = found.start - found.end, found.points
    quiet = found.noise <= 0.1 * fall or (found.error <= 0.1 * fall and _is_mostly_wrong(case))
    if not case.finished or n < case.limit(SLUG, "begin_points") or not quiet:
        return False
    if not 0 < fall < case.limit(SLUG, "begin") * abs(found.start):
        return False
    levels = [float(np.median(part)) for part in np.array_split(points.values, 4)]
    falls = -np.diff(levels)
    if _some_score_rose(case):
        return False
    faster = bool((np.diff(falls) > 0).all()) and bool(falls[-1] > 1.5 * falls[0] > 0)
    return faster or (bool(falls.min() > _AS_FAST * falls.max()) and _is_mostly_wrong(case))


def _is_mostly_wrong(case: Case) -> bool:
    """Whether evaluations show that the model has hardly learned: a low accuracy, and a loss that hardly falls."""
    scores = [track for track in case.every("val.accuracy") if is_plain_accuracy(track.tag) and track.finite_count >= 4]
    curves = validation_curves(case, points=int(case.limit(SLUG, "evaluations")))
    if not scores or not curves or any(float(np.median(t.tail.values[-3:])) * scale_of(t) > _POOR for t in scores):
        return False
    for curve in curves:
        levels = [float(np.median(part)) for part in np.array_split(curve.points.values, 3)]
        falls = -np.diff(levels)
        if not falls.min() > _AS_FAST * falls.max() > 0:
            return False
    return True


def _crawling(case: Case, curve: Objective, found: Course) -> Finding:
    share = (found.start - found.end) / abs(found.start)
    said = quote(curve.points, found)
    return case.finding(
        SLUG,
        "warning",
        curve.tag,
        f"{curve} fell by only {percent(share)} over {found.points:,} points, from {said.text(said.start)} to "
        f"{said.text(said.end)}: training has hardly begun.",
        evidence=[Evidence(curve.tag, "fall as a share of the start", share, case.limit(SLUG, "slow"))],
    )
