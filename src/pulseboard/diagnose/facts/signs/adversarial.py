"""Signs of trainings with two networks that compete: whether one of them has won."""

from __future__ import annotations

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.signs.sign import sign
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Floats


def _rivals(case: Case) -> tuple[Floats, Floats] | None:
    """The two losses, at as many points."""
    tracks = [track for track in case.every("gan.loss") if track.finite_count >= 10]
    if len(tracks) != 2:
        return None
    one, other = (track.points(most=256) for track in tracks)
    return one.values, np.interp(one.steps.astype(float), other.steps.astype(float), other.values)


@sign("one-side-wins", "one of the two networks has won: their losses move apart for good")
def one_side_wins(case: Case) -> bool | None:
    """In a fair game both losses waver around the same level."""
    rivals = _rivals(case)
    if rivals is None:
        return None
    apart = (rivals[0] - rivals[1])[len(rivals[0]) // 4 :]
    noise = max(noise_scale(rivals[0]), noise_scale(rivals[1]))
    return bool((np.abs(apart) > 8 * noise).all() and (np.sign(apart) == np.sign(apart[-1])).all())


@sign("rival-burst", "a loss of two competing networks rose to 5 times its start within the first fifth of the run")
def rival_burst(case: Case) -> bool | None:
    rivals = _rivals(case)
    if rivals is None:
        return None
    n = max(4, len(rivals[0]) // 5)
    return any(bool(values[:n].max() > max(5 * values[0], 1.5 * values[-n:].max())) for values in rivals)
