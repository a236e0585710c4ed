"""Signs of policies: whether the policy moves, and whether its critic learns."""

from __future__ import annotations

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.returns import acts_at_random
from pulseboard.diagnose.facts.signs.sign import sign

_LEAST_POINTS = 12
_EXPLAINS = 0.3  # of the variance of returns


@sign("critic-learns-alone", "the critic learns while the policy still chooses at random")
def critic_learns_alone(case: Case) -> bool | None:
    """Weights that reach the critic and not the policy: something else outweighs what the policy earns."""
    track = case.one("rl.explained")
    if track is None or track.finite_count < _LEAST_POINTS or not case.every("rl.entropy"):
        return None
    explained = float(np.median(track.points(most=512).values[-_LEAST_POINTS // 2 :]))
    return explained > _EXPLAINS and acts_at_random(case, points=_LEAST_POINTS)


@sign("large-updates", "updates move the policy by 0.1 nats or more")
def large_updates(case: Case) -> bool | None:
    track = case.one("rl.kl")
    if track is None or track.finite_count < _LEAST_POINTS // 2:
        return None
    return bool(np.median(track.points(most=512).values) >= 0.1 or track.high >= 1.0)
