"""Return flat: the policy has not learned anything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.returns import acts_at_random, main_return, returns_while_learning
from pulseboard.diagnose.phrases import count, number
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.stats.trend import Trend, trend
from pulseboard.diagnose.track import Floats, Points, Track

SLUG = "return-flat"
_PARTS = 8
_ALMOST_ALWAYS = 0.9
# An even choice of actions at the end shows what a few returns alone do not.
_FEWEST = 8
# An entropy that moves by less than this share is the same.
_SAME = 0.005
# Of the second half, the share at the lowest return there is, and how far above it the others may be.
_MOSTLY, _NEAR_WORST = 0.7, 0.15


@detector(id=SLUG, reads="rl.return")
def return_flat(case: Case) -> Iterator[Finding]:
    """No eighth of the run earned more than the first points, and there is no upward trend."""
    least = int(case.patient(case.limit(SLUG, "points")))
    track = main_return(case, points=_FEWEST)
    if (worst := _at_its_worst(case, track)) is not None:
        yield worst
        return
    if track.finite_count < least and case.finished and acts_at_random(case, points=_FEWEST):
        yield from _few_at_random(case, track)
        return
    steps, values = returns_while_learning(case, track)
    if len(values) < least:
        raise TooShort(f"{track.tag!r} has {len(values)} of the {least} points this needs since the first update")
    line = trend(Points(steps, values))
    parts = np.array_split(values, _PARTS)
    first, last = float(np.median(parts[0])), float(np.median(parts[-1]))
    levels = [float(np.median(part)) for part in parts]
    if line is None:
        return
    if acts_at_random(case, points=least) and line.end < (1 + case.limit(SLUG, "random_rise")) * abs(line.start):
        yield _at_random(case, track, first, last)
        return
    if _rises(case, line, values) or _rose(case, values, levels):
        return
    if _is_at_its_best(values) or _could_be_noise(case, values, levels):
        return
    yield case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} started at about {number(first)} and is about {number(last)} after "
        f"{count(len(track), 'point')}: nothing was learned.",
        first_step=int(steps[0]),
        evidence=[
            Evidence(track.tag, "p-value of a rising trend", line.p_rising, case.limit(SLUG, "p"), int(steps[-1]))
        ],
    )


def _few_at_random(case: Case, track: Track) -> Iterator[Finding]:
    """The policy chooses at random until the end, and the last third earns no more than the first."""
    points = track.points(most=64)
    thirds = np.array_split(points.values, 3)
    first, last = float(np.median(thirds[0])), float(np.median(thirds[-1]))
    line = trend(points)
    # A policy that does not change at all needs a clear trend to be called better.
    still = _never_changes(case) and line is not None and line.p_rising > case.limit(SLUG, "p")
    if still or last <= first + case.limit(SLUG, "random_rise") * abs(first):
        yield _at_random(case, track, first, last)


def _never_changes(case: Case) -> bool:
    """Whether the entropy of the policy is the same throughout."""
    entropy = case.one("rl.entropy")
    values = np.abs(entropy.points(most=512).values) if entropy is not None else np.empty(0)
    return len(values) >= _FEWEST and float(np.ptp(values)) < _SAME * float(values.max())


def _at_its_worst(case: Case, track: Track) -> Finding | None:
    """To the end of the run, most points are exactly the lowest return there is: the policy fails every time."""
    steps, values = track.points(most=1024)
    if not case.finished or track.block_points != 1 or len(values) < _FEWEST + 2:
        return None
    worst = values == values.min()
    later = worst[len(values) // 2 :]
    # A constant return may be the best possible; one that was higher before is not.
    rest = values[len(values) // 2 :]
    near = float(values.min()) + _NEAR_WORST * max(abs(float(values.min())), float(np.ptp(values)))
    if worst.all() or float(later.mean()) < (_MOSTLY if float(rest.max()) <= near else _ALMOST_ALWAYS):
        return None
    first = int(steps[int(np.argmax(worst))])
    return case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} is at its lowest value, {number(float(values.min()))}, at {int(later.sum()):,} of the last "
        f"{len(later):,} points: the policy fails every time.",
        first_step=first,
        evidence=[Evidence(track.tag, "lowest value", float(values.min()), None, int(steps[-1]), on_curve=True)],
    )


def _at_random(case: Case, track: Track, first: float, last: float) -> Finding:
    entropy = case.one("rl.entropy")
    assert entropy is not None
    return case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} went from {number(first)} to {number(last)}, and {entropy.tag} has stayed at "
        f"{number(entropy.last_value)}: the policy still chooses at random.",
        evidence=[Evidence(entropy.tag, "last value", entropy.last_value, None, entropy.last_step)],
    )


def _rises(case: Case, line: Trend, values: Floats) -> bool:
    """Whether there is an upward trend: a clear one, or a likely one that is not small."""
    if line.p_rising < case.limit(SLUG, "p"):
        size = max(abs(line.start), abs(line.end), 1e-12)
        # A critic that explains nothing, and hardly any rise: the policy drifts.
        return not (_critic_is_blind(case) and line.end - line.start < case.limit(SLUG, "drift") * size)
    few = len(values) < case.limit(SLUG, "few")
    p = case.limit(SLUG, "few_may_rise" if few else "may_rise")
    return line.p_rising < p and line.end - line.start > 0.5 * noise_scale(values)


def _critic_is_blind(case: Case) -> bool:
    """Whether the critic explains none of what happens, from the first update to the last."""
    track = case.one("rl.explained")
    values = track.points(most=512).values if track is not None else np.empty(0)
    return len(values) >= case.limit(SLUG, "points") and float(np.quantile(values, 0.9)) <= 0.0


def _rose(case: Case, values: Floats, levels: list[float]) -> bool:
    """Whether any later level is above the first points or the first level by more than chance."""
    apart = np.concatenate([part - np.median(part) for part in np.array_split(values, _PARTS)])
    noise = max(noise_scale(values), 1.4826 * float(np.median(np.abs(apart))))
    error = 1.25 * noise * np.sqrt(2 * _PARTS / len(values))
    start = min(levels[0], float(np.median(values[: max(3, len(values) // 50)])) + 2 * noise)
    size = max(abs(levels[0]), abs(levels[-1]), 1e-12)
    if abs(levels[-1] - levels[0]) > max(4 * error, 0.25 * size):
        return True  # it changed, for better or for worse
    return bool(max(levels[1:]) - start > case.limit(SLUG, "errors") * error + 1e-9 * abs(start))


def _could_be_noise(case: Case, values: Floats, levels: list[float]) -> bool:
    """Few points show that nothing changes only if they hardly move at all."""
    if len(values) >= case.limit(SLUG, "few"):
        return False
    size = max(abs(levels[0]), abs(levels[-1]), 1e-12)
    return max(levels) - min(levels) > case.limit(SLUG, "band") * size


def _is_at_its_best(values: Floats) -> bool:
    """A return that is almost always the same, and never higher, is probably the maximum if it is not negative."""
    top = float(values.max())
    return bool((values == top).mean() >= _ALMOST_ALWAYS) and (top > 0 or bool(values.min() < top))
