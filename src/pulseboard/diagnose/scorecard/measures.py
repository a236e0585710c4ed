"""Measures: what a check compares with its limit. Each takes the tracks that its tag matches and returns numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.scorecard.check import Check
from pulseboard.diagnose.scorecard.curves import present, value_at, windows
from pulseboard.diagnose.track import Track


@dataclass(frozen=True, slots=True)
class Measured:
    """A number, and the tag it is about."""

    tag: str
    value: float


@dataclass(frozen=True, slots=True)
class Subject:
    """What a measure is taken of: the series of the check's two tags, and the run."""

    case: Case
    check: Check
    tracks: Sequence[Track]
    others: Sequence[Track]


Measure = Callable[[Subject], Iterator[Measured]]
MEASURES: dict[str, Measure] = {}


def _measure(function: Measure) -> Measure:
    MEASURES[function.__name__.strip("_").replace("_", " ")] = function
    return function


def _of_each(name: str) -> Callable[[Callable[[Track], float | None]], Callable[[Track], float | None]]:
    """Declare a measure that looks at one series at a time."""

    def declare(function: Callable[[Track], float | None]) -> Callable[[Track], float | None]:
        def every(subject: Subject) -> Iterator[Measured]:
            for track in subject.tracks:
                value = function(track)
                if value is not None:
                    yield Measured(track.tag, value)

        MEASURES[name] = every
        return function

    return declare


# ---- of one series


@_of_each("latest")
def latest(track: Track) -> float | None:
    """The value now."""
    return present(track)


@_of_each("highest")
def highest(track: Track) -> float | None:
    """The largest value of the run."""
    return track.high


@_of_each("not finite")
def not_finite(track: Track) -> float | None:
    """How many values were NaN or infinite."""
    return float(track.not_finite.nan + track.not_finite.inf)


@_of_each("change")
def change(track: Track) -> float | None:
    """How far the last tenth is from the first, relative to the first: -0.5 has halved."""
    parts = windows(track, 10)
    if len(parts) < 3 or parts[0] == 0:
        return None
    return float((parts[-1] - parts[0]) / abs(parts[0]))


@_of_each("rise")
def rise(track: Track) -> float | None:
    """How far the end is above the lowest twentieth, relative to it; 0 if the end is the lowest."""
    parts = windows(track, 20)
    low = float(parts.min()) if len(parts) >= 3 else 0.0
    return None if len(parts) < 3 else float((parts[-1] - low) / max(abs(low), 1e-12))


@_of_each("growth")
def growth(track: Track) -> float | None:
    """The value now over its early level, which is the median of the first quarter without its first tenth."""
    values = track.points(most=2048).values
    early = values[len(values) // 10 : max(len(values) // 4, len(values) // 10 + 1)]
    base = float(np.median(np.abs(early))) if len(early) else 0.0
    return abs(present(track)) / base if len(values) >= 8 and base > 0 else None


@_of_each("share of usual")
def share_of_usual(track: Track) -> float | None:
    """The value now over the median of the first half."""
    values = track.points(most=2048).values
    usual = float(np.median(values[: max(1, len(values) // 2)])) if len(values) >= 8 else 0.0
    return present(track) / usual if usual > 0 else None


@_of_each("spike")
def spike(track: Track) -> float | None:
    """The largest point over the median of the nine before it, after the first tenth of the run."""
    values = track.points().values
    start = max(9, len(values) // 10)
    if len(values) < start + 1:
        return None
    before = np.median(np.lib.stride_tricks.sliding_window_view(values, 9)[start - 9 : -1], axis=1)
    sizes = values[start:][before > 0] / before[before > 0]
    return float(sizes.max()) if len(sizes) else None


@_of_each("jump")
def jump(track: Track) -> float | None:
    """The largest change from one point to the next, relative to the largest value."""
    values = track.points().values
    top = float(np.abs(values).max()) if len(values) >= 3 else 0.0
    return float(np.abs(np.diff(values)).max() / top) if top > 0 else None


@_of_each("wandering")
def wandering(track: Track) -> float | None:
    """The range of the medians of twentieths, relative to their median."""
    parts = windows(track, 20)
    middle = float(np.median(np.abs(parts))) if len(parts) >= 3 else 0.0
    return float((parts.max() - parts.min()) / middle) if middle > 0 else None


@_of_each("near zero after")
def near_zero_after(track: Track) -> float | None:
    """The share of the run after which the value stays below 5 % of its start; 1 if it never does."""
    parts = windows(track, 50)
    if len(parts) < 5 or parts[0] <= 0:
        return None
    above = np.flatnonzero(parts > 0.05 * parts[0])
    return float((above[-1] + 1) / len(parts))


@_of_each("settled after")
def settled_after(track: Track) -> float | None:
    """The share of the run after which the value has made 95 % of its way."""
    parts = windows(track, 50)
    if len(parts) < 5 or parts[-1] == parts[0]:
        return None
    done = np.abs(parts - parts[0]) >= 0.95 * abs(parts[-1] - parts[0])
    return float(np.argmax(done) / len(parts))


@_measure
def _share_at(subject: Subject) -> Iterator[Measured]:
    """The share of points within 1 % of the parameter `at`, or above it."""
    for track in subject.tracks:
        values = track.points().values
        if len(values) >= 8 and subject.check.at is not None:
            yield Measured(track.tag, float((values >= 0.99 * subject.check.at).mean()))


# ---- of several series


@_measure
def _ratio(subject: Subject) -> Iterator[Measured]:
    """The value now over that of the other tag at the same step."""
    for track, other in _pairs(subject):
        base = value_at(other, track.last_step)
        if base > 0:
            yield Measured(track.tag, present(track) / base)


@_measure
def _difference_of_means(subject: Subject) -> Iterator[Measured]:
    """The mean over the run less that of the other tag."""
    for track, other in _pairs(subject):
        values, others = track.points().values, other.points().values
        if len(values) and len(others):
            yield Measured(track.tag, float(values.mean() - others.mean()))


@_measure
def _difference(subject: Subject) -> Iterator[Measured]:
    """The value now less that of the other tag at the same step."""
    for track, other in _pairs(subject):
        yield Measured(track.tag, present(track) - value_at(other, track.last_step))


@_measure
def _lead(subject: Subject) -> Iterator[Measured]:
    """The value now less the largest of the other tags."""
    for track in subject.tracks:
        rest = [present(other) for other in subject.others if other.tag != track.tag]
        if rest:
            yield Measured(track.tag, present(track) - max(rest))


@_measure
def _spread(subject: Subject) -> Iterator[Measured]:
    """The largest of the values over the smallest, named after the smallest."""
    found = [(present(track), track.tag) for track in subject.tracks if present(track) > 0]
    if len(found) > 1:
        yield Measured(min(found)[1], max(found)[0] / min(found)[0])


@_measure
def _against_weights(subject: Subject) -> Iterator[Measured]:
    """A level's share of the loss over its share of the configured weights, or the inverse if that is larger."""
    weights = subject.case.context.hierarchy_weights
    if weights and len(weights) == len(subject.tracks) and sum(weights) > 0:
        for track, weight in zip(sorted(subject.tracks, key=lambda track: track.tag), weights, strict=True):
            share, asked = present(track) / 100, weight / sum(weights)
            if share > 0 and asked > 0:
                yield Measured(track.tag, max(share / asked, asked / share))


@_measure
def _rise_while_other_falls(subject: Subject) -> Iterator[Measured]:
    """How far the end is above the lowest twentieth, if the other series kept falling since; otherwise 0."""
    for track, other in _pairs(subject):
        parts, others = windows(track, 20), windows(other, 20)
        if len(parts) >= 5 and len(others) >= 5:
            low = int(parts.argmin())
            at = min(len(others) - 1, round(low * len(others) / len(parts)))
            falls = others[-1] < others[at]
            yield Measured(track.tag, float(parts[-1] / parts[low] - 1) if falls and parts[low] > 0 else 0.0)


@_measure
def _stop_while_other_falls(subject: Subject) -> Iterator[Measured]:
    """How far the other series fell in the last third, if this one fell less than a fifth as far; otherwise 0."""
    for track, other in _pairs(subject):
        mine, theirs = _fall_in_last_third(track), _fall_in_last_third(other)
        if mine is not None and theirs is not None:
            yield Measured(track.tag, theirs if theirs > 0 and mine < 0.2 * theirs else 0.0)


@_measure
def _share_of_gpu(subject: Subject) -> Iterator[Measured]:
    """Gigabytes over what the GPU has, if the config or the log says how much that is."""
    limit = subject.case.gpu_memory_gb
    if limit:
        for track in subject.tracks:
            yield Measured(track.tag, present(track) / limit)


def _fall_in_last_third(track: Track) -> float | None:
    parts = windows(track, 12)
    if len(parts) < 6 or parts[0] == 0:
        return None
    third = len(parts) - len(parts) // 3
    return float((parts[third - 1] - parts[-1]) / abs(parts[third - 1])) if parts[third - 1] else None


def _pairs(subject: Subject) -> Iterator[tuple[Track, Track]]:
    """Each series with the other one: the only one, or the one at the same position."""
    others = sorted(subject.others, key=lambda track: track.tag)
    for i, track in enumerate(sorted(subject.tracks, key=lambda track: track.tag)):
        if len(others) == 1 or i < len(others):
            yield track, others[0] if len(others) == 1 else others[i]
