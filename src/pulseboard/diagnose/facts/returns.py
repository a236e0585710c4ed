"""Returns: the series that shows best what a policy earns, and whether it is earning well."""

from __future__ import annotations

import numpy as np

from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.stats.course import course
from pulseboard.diagnose.track import Floats, Ints, Points, Track

_MEAN = {"mean", "avg", "average", "cumulative", "total", "episode", "ep"}
_OVER_EPISODES = {"mean", "avg", "average"}
_LEAST_POINTS = 6
_WINDOW = 100  # episodes that stable-baselines3 averages over
_NEAR_WHOLE = 0.02
_GRAIN = 1e-6
_MOST_ACTIONS = 12
_EVEN = 0.98  # of the highest entropy


def main_return(case: Case, *, points: int) -> Track:
    """The return with the most points, preferring a mean over episodes. TooShort if none has enough."""
    tracks = case.every("rl.return")
    most = max(track.finite_count for track in tracks)
    if most < points:
        raise TooShort(f"{tracks[0].tag!r} has {most} of the {points} points this needs")
    long = [track for track in tracks if track.finite_count >= 0.8 * most]
    return max(long, key=lambda track: (bool(_MEAN & set(words_of(track.tag).every)), -len(words_of(track.tag).every)))


def fresh_returns(track: Track, *, most: int = 512) -> Points:
    """The points of a return that are new: a mean over episodes repeats itself until the next episode ends."""
    steps, values = track.points(most=most)
    if len(values) < 2 or not _OVER_EPISODES & set(words_of(track.tag).every):
        return Points(steps, values)
    news = np.concatenate([[True], np.diff(values) != 0])
    # The same value throughout means that all episodes earn the same.
    return Points(steps[news], values[news]) if news.sum() > 1 else Points(steps, values)


def episode_returns(case: Case, track: Track, *, most: int = 512) -> Points:
    """What the episodes between two points earned, where a return is the mean over the last hundred episodes.

    Such a mean hides the noise of episodes and lags. Single returns can be recovered if the number of episodes is
    known: before the window is full, the mean length of an episode times that number is the step. Others are as logged.
    """
    steps, values = track.points()
    lengths = _mean_lengths(case, track, steps)
    if lengths is None or len(values) < _LEAST_POINTS or track.block_points != 1:
        return fresh_returns(track, most=most)
    counts = steps / np.maximum(lengths, 1e-9)
    each = max(1, round(float(counts[0])))  # episodes per point
    known = min(len(values), _WINDOW // each)
    expected = each * np.arange(1, known + 1)
    uneven = len(values) > known and _WINDOW % each > 0
    if uneven or known < _LEAST_POINTS or np.abs(counts[:known] / expected - 1).max() > _NEAR_WHOLE:
        return fresh_returns(track, most=most)
    blocks = _undone(values, known)
    size = -(-len(blocks) // most)
    cut = len(blocks) - len(blocks) % size
    return Points(steps[size - 1 : cut : size], blocks[:cut].reshape(-1, size).mean(axis=1))


def _undone(values: Floats, window: int) -> Floats:
    """The points of which `values` are the means, over all points so far and over at most a window of them."""
    blocks = np.empty(len(values))
    for i in range(len(values)):
        if i < window:
            blocks[i] = (i + 1) * values[i] - i * (values[i - 1] if i else 0.0)
        else:
            blocks[i] = blocks[i - window] + window * (values[i] - values[i - 1])
    # Differences of means that were stored with seven digits.
    grain = _GRAIN * window * float(np.abs(values).max())
    return np.round(blocks / grain) * grain if grain > 0 else blocks


def _mean_lengths(case: Case, track: Track, steps: Ints) -> Floats | None:
    """The mean length of episodes at the same steps as a mean return; None if it is not logged."""
    words = words_of(track.tag)
    # Evaluations average over a few episodes of their own.
    if not _OVER_EPISODES & set(words.every) or words.split == "validation":
        return None
    for tag, other in case.tracks.items():
        every = set(words_of(tag).every)
        if {"len", "length"} & every and {"ep", "episode"} & every and _OVER_EPISODES & every:
            same = other.points()
            if len(same.steps) == len(steps) and bool((same.steps == steps).all()):
                return same.values
    return None


def returns_while_learning(case: Case, track: Track, *, most: int = 512) -> Points:
    """The returns since the first update: many algorithms collect experience at random before that."""
    steps, values = episode_returns(case, track, most=most)
    firsts = [one.first_step for one in case.every("rl.loss") if one.first_step is not None]
    since = int(np.searchsorted(steps, min(firsts))) if firsts else 0
    return Points(steps[since:], values[since:])


def earns_well(case: Case) -> bool:
    """Whether a return has clearly risen and kept most of that: then the policy works, whatever else is odd."""
    for track in case.every("rl.return"):
        steps, values = track.points(most=512)
        found = course(Points(steps, -values)) if len(values) >= _LEAST_POINTS else None
        if found is not None and found.gain > 4 * found.error and found.rise <= 0.25 * found.gain:
            return True
    return False


def largest_return(case: Case) -> float | None:
    """The largest size of a return so far; None if none is logged."""
    sizes = [max(abs(track.low), abs(track.high)) for track in case.every("rl.return") if track.finite_count]
    return max(sizes, default=None)


def acts_at_random(case: Case, *, points: int) -> bool:
    """Whether a policy that chooses among a few actions does so as evenly at the end as at the start.

    Its entropy then stays at the logarithm of a whole number.
    """
    for track in case.every("rl.entropy"):
        values = np.abs(track.points(most=512).values)
        if len(values) < points:
            continue
        among = round(float(np.exp(min(float(values[0]), 5.0))))
        highest = float(np.log(among)) if 2 <= among <= _MOST_ACTIONS else np.inf
        # Of more actions, any entropy is near the logarithm of some number.
        if (
            abs(values[0] / highest - 1) < 1 - _EVEN
            and float(values[-max(3, len(values) // 4) :].min()) > _EVEN * highest
        ):
            return True
    return False
