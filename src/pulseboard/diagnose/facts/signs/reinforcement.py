"""Signs of policies: whether the policy moves, and whether its critic learns."""

from __future__ import annotations

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.critic import critic_losses
from pulseboard.diagnose.facts.returns import acts_at_random, episode_returns, main_return
from pulseboard.diagnose.facts.signs.sign import sign
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Floats, Track

_LEAST_POINTS = 12
_FEW_POINTS = 8
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
    """When exploration ends, the policy itself is left: one that was never trained is worse than chance."""
    ended = any(one.head.values[0] >= 0.5 and one.last_value <= 0.3 for one in _exploration(case))
    returns = case.every("rl.return")
    if not ended or not returns or max(track.finite_count for track in returns) < _LEAST_POINTS:
        return None
    values = episode_returns(case, main_return(case, points=_LEAST_POINTS)).values
    first, *levels = (float(np.median(part)) for part in np.array_split(values, 6))
    return max(levels) <= first and levels[-1] < first - 0.2 * abs(first)


@sign("explores-for-ever", "at least half of the actions are still random at the end", apart=True)
def explores_for_ever(case: Case) -> bool | None:
    rates = _exploration(case)
    return None if not rates else any(one.last_value >= 0.5 for one in rates)


@sign("never-explores", "no action was ever random", apart=True)
def never_explores(case: Case) -> bool | None:
    rates = _exploration(case)
    return None if not rates else any(one.high <= 0.02 for one in rates)


@sign("policy-random", "the policy still chooses at random at the end")
def policy_random(case: Case) -> bool | None:
    long = [track for track in case.every("rl.entropy") if track.finite_count >= _FEW_POINTS]
    return None if not long else acts_at_random(case, points=_FEW_POINTS)


@sign("return-only-falls", "the return falls from the first points on and ends below them", apart=True)
def return_only_falls(case: Case) -> bool | None:
    """A policy that learns the opposite of what it should is soon worse than chance."""
    values = _returns(case)
    if values is None:
        return None
    first = float(np.median(values[: max(2, len(values) // 12)]))
    rest = [float(np.median(part)) for part in np.array_split(values[max(2, len(values) // 12) :], 3)]
    return max(rest) < first - max(0.5 * noise_scale(values), 0.03 * abs(first))


@sign("return-drops", "the return had risen and then dropped suddenly", apart=True)
def return_drops(case: Case) -> bool | None:
    values = _returns(case)
    if values is None:
        return None
    n, width = len(values), 3 if len(values) < 60 else 5
    start = max(n // 4, width)
    falls = [
        float(np.median(values[i - width : i]) - np.median(values[i : i + width])) for i in range(start, n - width)
    ]
    if not falls:
        return None
    at = start + int(np.argmax(falls))
    rose = float(np.median(values[max(0, at - 2 * width) : at])) - float(np.median(values[: max(2, n // 10)]))
    return rose > 0 and max(falls) > max(0.5 * rose, 4 * noise_scale(values[: max(at, 6)]))


@sign("return-turns", "the return rose first and has since lost at least half of that", apart=True)
def return_turns(case: Case) -> bool | None:
    values = _returns(case)
    if values is None:
        return None
    levels = [float(np.median(part)) for part in np.array_split(values, 8)]
    peak = max(levels[1:-1])
    rose = peak - levels[0]
    return rose > 2 * noise_scale(values) and peak - levels[-1] > max(0.5 * rose, 2 * noise_scale(values))


@sign("critic-worsens", "the critic's loss ends at 3 times its best level or higher")
def critic_worsens(case: Case) -> bool | None:
    levels = _critic_levels(case)
    return None if levels is None else levels[2] > 3 * max(levels[1], 1e-12)


def _exploration(case: Case) -> list[Track]:
    """The share of random actions."""
    found = [track for tag, track in case.tracks.items() if {"epsilon", "exploration"} & set(words_of(tag).every)]
    return [track for track in found if len(track) > 2 and 0 <= track.low <= track.high <= 1]


def _returns(case: Case) -> Floats | None:
    """What the episodes earned, if there are enough points."""
    returns = case.every("rl.return")
    if not returns or max(track.finite_count for track in returns) < _FEW_POINTS:
        return None
    values = episode_returns(case, main_return(case, points=_FEW_POINTS)).values
    return values if len(values) >= _FEW_POINTS else None


def _critic_levels(case: Case) -> tuple[float, float, float] | None:
    """The first, the lowest and the last level of a critic's loss."""
    tracks = [track for track in critic_losses(case) if track.finite_count >= _FEW_POINTS]
    if not tracks:
        return None
    levels = [float(np.median(part)) for part in np.array_split(tracks[0].points(most=512).values, 5)]
    return levels[0], min(levels), levels[-1]
