"""GAN imbalance: one of the two networks has won, and the other has nothing left to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Floats, Points, Track

SLUG = "gan-imbalance"
_DISCRIMINATOR = frozenset({"d", "disc", "discriminator", "netd", "critic", "dis"})
_GENERATOR = frozenset({"g", "gen", "generator", "netg"})
_POINTS = 512


@dataclass(frozen=True, slots=True)
class _Loss:
    """One network's loss in a few numbers."""

    track: Track
    points: Points
    first: float  # level of the first points
    late: float  # level of the last third

    @property
    def last_third(self) -> Floats:
        return self.points.values[-max(4, len(self.points.values) // 3) :]


@detector(id=SLUG, reads="gan.loss")
def gan_imbalance(case: Case) -> Iterator[Finding]:
    """Looks at the losses of both networks; with several pairs, most of them must agree."""
    least = int(case.patient(case.limit(SLUG, "points")))
    rivals = [_losses(case, names, least) for names in (_DISCRIMINATOR, _GENERATOR)]
    if not all(rivals):
        raise TooShort(f"needs {least} points of the losses of both networks")
    discriminators, generators = rivals
    judges = [loss for loss in discriminators if _has_won(case, loss)]
    guess = max(loss.first for loss in discriminators)
    helpless = [loss for loss in generators if _rose(case, loss, guess)]
    if 2 * len(judges) > len(discriminators) and 2 * len(helpless) > len(generators):
        yield _finding(case, judges[0], helpless[0], "the discriminator has won")
        return
    beaten = [loss for loss in discriminators if _worse_than_a_guess(case, loss)]
    unopposed = [loss for loss in generators if _fell(case, loss)]
    if 2 * len(beaten) > len(discriminators) and 2 * len(unopposed) > len(generators):
        yield _finding(case, beaten[0], unopposed[0], "the discriminator does not learn")


def _losses(case: Case, names: frozenset[str], least: int) -> list[_Loss]:
    """The losses of one of the two networks that are positive and long enough."""
    found = []
    for track in case.every("gan.loss"):
        points = track.points(most=_POINTS)
        rest = words_of(track.tag).rest
        # A critic without a bound, as Wasserstein's, has no level at which it has won.
        if not rest & names or len(points.values) < least or track.low < 0 or {"real", "fake"} & rest:
            continue
        values = points.values
        third = values[-max(4, len(values) // 3) :]
        found.append(_Loss(track, points, float(values[0]), float(np.median(third))))
    return found


def _has_won(case: Case, loss: _Loss) -> bool:
    """At its floor for a long time: it has fallen to almost nothing, or no longer moves."""
    fall = loss.first - loss.late
    low = float(np.quantile(loss.last_third, 0.75)) < case.limit(SLUG, "nothing") * loss.first
    still = fall > 0 and float(np.ptp(loss.last_third)) < case.limit(SLUG, "still") * fall
    return low or still


def _rose(case: Case, loss: _Loss, guess: float) -> bool:
    """Far above where it started, or far above the loss of a guessing discriminator, and not coming back."""
    limit = case.limit(SLUG, "rise")
    if loss.late < min(limit * loss.first, 2 * limit * guess):
        return False
    steps, values = loss.points
    half = len(values) // 2
    line = trend(Points(steps[half:], values[half:]))
    return line is None or line.p_falling > 0.001 or line.end > 0.8 * line.start


def _worse_than_a_guess(case: Case, loss: _Loss) -> bool:
    """An untrained discriminator guesses; one that ends clearly above that has learned nothing."""
    return float(np.quantile(loss.last_third, 0.1)) > case.limit(SLUG, "worse") * loss.first


def _fell(case: Case, loss: _Loss) -> bool:
    """Well below where it started, at nearly every point of the last third."""
    return float(np.quantile(loss.last_third, 0.9)) < case.limit(SLUG, "fallen") * loss.first


def _finding(case: Case, judge: _Loss, other: _Loss, what: str) -> Finding:
    since = _since(judge)
    return case.finding(
        SLUG,
        "warning",
        judge.track,
        f"{judge.track.tag} went from {number(judge.first)} to {number(judge.late)} and {other.track.tag} from "
        f"{number(other.first)} to {number(other.late)}: {what}.",
        first_step=since,
        evidence=[
            Evidence(
                judge.track.tag, "level relative to the first", judge.late / max(judge.first, 1e-300), None, since
            ),
            Evidence(
                other.track.tag, "level relative to the first", other.late / max(other.first, 1e-300), None, since
            ),
        ],
    )


def _since(loss: _Loss) -> int:
    """The first step after which it stays within a tenth of the way to its late level."""
    steps, values = loss.points
    away = np.flatnonzero(np.abs(values - loss.late) > 0.1 * abs(loss.first - loss.late) + 1e-12)
    return int(steps[min(int(away[-1]) + 1 if len(away) else 0, len(steps) - 1)])
