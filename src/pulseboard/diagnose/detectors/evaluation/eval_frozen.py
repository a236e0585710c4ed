"""Evaluation frozen: several validation losses are identical to the last digit."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.learning import learning, weights_move
from pulseboard.diagnose.facts.objective import loss_course
from pulseboard.diagnose.facts.scores import scale_of
from pulseboard.diagnose.phrases import count, digits_of, number
from pulseboard.diagnose.track import Track

SLUG = "eval-frozen"
# The training loss fell by this share; a score that is this bad or this good may stay as it is.
_FELL, _WRONG, _PERFECT = 0.3, 0.02, 0.97


@detector(id=SLUG, reads="val.loss|val.accuracy")
def eval_frozen(case: Case) -> Iterator[Finding]:
    """Several evaluations in a row are exactly equal while the training loss changes."""
    # Weights that do not change give the same result each time; other findings report that.
    moves = weights_move(case)
    train = case.one("train.loss")
    if (moves.value is False and moves.tags and moves.tags[0] not in _tags(case)) or not _changes(train):
        return
    least = case.limit(SLUG, "in_a_row")
    for track in case.every("val.loss"):
        same = track.longest_streak
        if same is None or same.length < least or same.last_step <= same.first_step:
            continue
        # Exactly 0 has its own finding, and a few equal values in a long series mean little.
        if same.value == 0.0 or same.length < case.limit(SLUG, "share") * len(track):
            continue
        # Rounded values can agree by chance once a model has settled, so all of them must be equal.
        digits, learns = digits_of(same.value), learning(case).value is True
        rounded = digits < case.limit(SLUG, "digits")
        if rounded and (same.length < len(track) or not (learns or _says_enough(case, digits, same.length))):
            continue
        yield case.finding(
            SLUG,
            "warning" if rounded else "critical",
            track,
            f"{track.tag} is exactly {number(same.value)} for {count(int(same.length), 'evaluation')} in a row, from "
            f"step {same.first_step:,}, while training goes on"
            + ("." if learns else ": the weights that are evaluated do not change."),
            first_step=same.first_step,
            last_step=same.last_step,
            evidence=[Evidence(track.tag, "equal evaluations in a row", same.length, least, same.first_step)],
        )
        return
    frozen = _frozen_score(case)
    if frozen is not None:
        yield frozen


def _frozen_score(case: Case) -> Finding | None:
    """A score that is the same at every one of many evaluations while the training loss falls, and is not perfect."""
    course = loss_course(case).value
    if course is None or course.gain < _FELL * abs(course.start) or any(t.high > t.low for t in case.every("val.loss")):
        return None
    for track in case.every("val.accuracy"):
        level = track.high * scale_of(track)
        if track.finite_count >= case.limit(SLUG, "scores") and track.high == track.low and _WRONG < level < _PERFECT:
            return case.finding(
                SLUG,
                "warning",
                track,
                f"{track.tag} is exactly {number(track.high)} at all of {count(track.finite_count, 'evaluation')}, "
                "while the training loss falls.",
                evidence=[Evidence(track.tag, "equal evaluations", track.finite_count, case.limit(SLUG, "scores"))],
            )
    return None


def _says_enough(case: Case, digits: int, evaluations: float) -> bool:
    """Whether a model that learns would not give equal values: there are several, with several digits each."""
    return digits >= case.limit(SLUG, "fewest_digits") and evaluations >= case.limit(SLUG, "all_equal")


def _tags(case: Case) -> set[str]:
    return {track.tag for track in case.every("val.loss")}


def _changes(train: Track | None) -> bool:
    return train is None or train.longest_streak is None or train.longest_streak.length < 0.5 * len(train)
