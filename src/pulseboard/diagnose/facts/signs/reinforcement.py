"""Signs of policies: whether the policy moves, and whether its critic learns."""

from __future__ import annotations

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.returns import acts_at_random, episode_returns, main_return
from pulseboard.diagnose.facts.signs.sign import sign
from pulseboard.diagnose.roles.words import words_of

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


@sign("worse-without-exploration", "the return only fell while random actions became rare")
def worse_without_exploration(case: Case) -> bool | None:
    """What is left when exploration ends is the policy itself: one that was never trained is worse than chance."""
    rates = [track for tag, track in case.tracks.items() if {"epsilon", "exploration"} & set(words_of(tag).every)]
    ended = any(len(one) > 2 and one.head.values[0] >= 0.5 and one.last_value <= 0.3 for one in rates)
    returns = case.every("rl.return")
    if not ended or not returns or max(track.finite_count for track in returns) < _LEAST_POINTS:
        return None
    values = episode_returns(case, main_return(case, points=_LEAST_POINTS)).values
    first, *levels = (float(np.median(part)) for part in np.array_split(values, 6))
    return max(levels) <= first and levels[-1] < first - 0.2 * abs(first)
