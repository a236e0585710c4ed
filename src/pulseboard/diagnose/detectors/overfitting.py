"""Overfitting: the validation loss has turned up while the training loss goes on falling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import episodes
from pulseboard.diagnose.statistics.rise import Rise, rise_from_best
from pulseboard.diagnose.statistics.trend import trend
from pulseboard.diagnose.track import Points, Track


def turned(case: Case, validation: Track) -> Rise | None:
    """The rise of a validation loss above its best that is sure and large enough to matter."""
    points = validation.points(most=256)
    n = len(points.values)
    if n < case.limit("overfitting", "evaluations"):
        return None
    width = max(1, min(5, n // 8))
    # What never fell has not learned and forgotten: it was never right.
    if points.values[0] - points.values.min() < case.limit("overfitting", "least_fall") * abs(float(points.values[0])):
        return None
    # A large rise needs less certainty: evaluations are few and far between.
    surprise, large = case.limit("overfitting", "surprise"), case.limit("overfitting", "large_share")
    rise = rise_from_best(points, width=width, least_surprise=0.5 * surprise, windows=3)
    if rise is None or rise.share < case.limit("overfitting", "share"):
        return None
    return rise if rise.surprise > surprise or rise.share > large else None


@detector(id="overfitting", reads=("train.loss", "val.loss"))
def overfitting(case: Case) -> Iterator[Finding]:
    """For the validation set where it is clearest. Info while the rise is small."""
    train = case.need("train.loss", points=5)
    tracks = case.every("val.loss")
    if all(len(track) < case.limit("overfitting", "evaluations") for track in tracks):
        return
    found = [(rise, track) for track in tracks if (rise := turned(case, track)) is not None]
    found = [(rise, track) for rise, track in found if _still_falls(train, since=rise.best_step)]
    found = [(rise, track) for rise, track in found if not _upset(case, train, rise.best_step)]
    if not found:
        return
    rise, track = max(found, key=lambda pair: pair[0].share)
    least = case.limit("overfitting", "warning_share")
    yield case.finding(
        "overfitting",
        "warning" if rise.share >= least else "info",
        track,
        f"{track.tag} was best at step {rise.best_step} ({rise.best:.4g}) and is {rise.level:.4g} now, while "
        f"{train.tag} "
        "goes on falling.",
        first_step=rise.best_step,
        evidence=[
            Evidence(track.tag, "rise above its best, as a share of it", rise.share, least, rise.since_step),
            Evidence(track.tag, "rise in standard errors", rise.surprise, case.limit("overfitting", "surprise")),
        ],
    )


def _upset(case: Case, train: Track, step: int) -> bool:
    """Whether the training loss leapt where validation was best: then the data changed, and nothing was memorised."""
    near = 0.1 * ((train.last_step or 0) - (train.first_step or 0))
    least = case.limit("loss-level-shift", "rise")
    leaps = [e for e in episodes(case, train) if e.rise > least * abs(e.alarm.level)]
    return any(abs(leap.alarm.first_step - step) <= near for leap in leaps)


def _still_falls(train: Track, *, since: int) -> bool:
    """Whether the training loss is lower at the end than when validation was best."""
    steps, values = train.points(most=512)
    at = int(np.searchsorted(steps, since))
    if at >= len(values) - 2:
        return False
    reach = max(1, min(len(values) // 10, at + 1, len(values) - at))
    then = float(np.median(values[max(0, at - reach) : at + reach]))
    now = float(np.median(values[-reach:]))
    if now < then:
        return True
    line = trend(Points(steps[at:], values[at:]))
    return line is not None and line.p_falling < 1e-3
