"""Return collapsed: a policy lost what it had learned."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.returns import episode_returns, main_return
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.quote import quote
from pulseboard.diagnose.stats.course import centered_median, course
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Floats, Points, Track

SLUG = "return-collapsed"
_SURE = 6.0  # standard errors
_FALLS = 1e-4  # p-value
# Standard errors between two means, of which one is the best of many, and the fewest points of each.
_SURE_OF_MEANS, _LEAST_OF_MEAN = 4.0, 5
_LONG = 128  # points, of which eighths are independent even if neighbors are not
# With fewer points, chance would put the last ones below all others too often.
_FEWEST = 8
_NEARLY_ALL = 0.75
_ORDERED = 0.1  # so much more of all pairs than of all steps must go down
# Points that stay up before a fall and down after it, how far apart they are, and how near the top, of the range.
_DOWN, _MOST_OF_RANGE, _NEAR_TOP = 3, 0.5, 0.25


@detector(id=SLUG, reads="rl.return")
def return_collapsed(case: Case) -> Iterator[Finding]:
    """The return lost most of its improvement and has not recovered."""
    track = main_return(case, points=_FEWEST)
    steps, values = episode_returns(case, track)
    if len(values) < case.limit(SLUG, "points"):
        slide = _slides(case, track) or _came_down(case, track)
        if slide is not None:
            yield slide
        else:
            yield from _below_all_before(case, track, Points(steps, values))
        return
    lost = _lost(case, track, Points(steps, values)) or _only_worse(case, track, Points(steps, values))
    if lost is not None:
        yield lost


def _lost(case: Case, track: Track, returns: Points) -> Finding | None:
    """Most of the improvement is lost, far beyond the noise, and it stays lost."""
    steps, values = returns
    found = course(Points(steps, -values))
    assert found is not None
    limit = case.limit(SLUG, "share")
    kept = (found.start - found.end) / found.gain if found.gain > 0 else 0.0
    # Lost what it gained, or worse than at the start: either way the fall must be far beyond the noise.
    gained = found.gain > case.limit(SLUG, "noise_widths") * found.noise or found.end - found.start > max(
        8 * found.error, found.noise
    )
    # Less may be lost where it is beyond doubt.
    held = _held_down(case, values)
    if held or (found.surprise >= 2 * _SURE and found.stays_up >= 0.7 * found.rise):
        limit = case.limit(SLUG, "sure_share")
    if kept >= limit or not gained or found.rise < 2 * found.noise or (found.surprise < _SURE and not held):
        return None
    if not _means_fell(values):
        return None
    if found.stays_up < 0.4 * found.rise or found.rise < case.limit(SLUG, "fall") * max(
        abs(found.best), abs(found.end)
    ):
        return None
    level = -centered_median(values, found.width)
    near = np.flatnonzero(level <= found.best + (1 - limit) * found.rise)
    first = int(steps[int(near[-1])]) if len(near) else found.best_step
    said = quote(Points(steps, -values), found)
    kl = case.one("rl.kl")
    moved = f" {kl.tag} reached {number(kl.high)}." if kl is not None and kl.high > 1.0 else ""
    return case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} was {said.text(-said.best)} at step {said.best_step:,} and is now {said.text(-said.end)}: the "
        f"policy lost most of what it had learned.{moved}",
        first_step=first,
        evidence=[Evidence(track.tag, "share of the gain that is left", kept, limit, int(steps[-1]))],
    )


def _means_fell(values: Floats) -> bool:
    """Whether the last mean is clearly below the best one.

    A game is won or lost: medians of such returns jump from one to the other while their mean stays where it is.
    """
    width = max(_LEAST_OF_MEAN, len(values) // 8)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means = (sums[width:] - sums[:-width]) / width
    before = means[: max(1, len(means) - width)]
    best = int(np.argmax(before))
    spread = np.sqrt(0.5 * (values[best : best + width].var() + values[-width:].var()))
    return bool(before[best] - means[-1] > _SURE_OF_MEANS * spread * np.sqrt(2 / width))


def _held_down(case: Case, values: Floats) -> bool:
    """Whether three eighths of the run at the end are all below the best one and its neighbors, and far below it.

    This needs no estimate of the noise, which means over many episodes hide.
    """
    levels = np.array([np.median(part) for part in np.array_split(values, 8)])
    best = int(np.argmax(levels[:5]))
    high = levels[max(0, best - 1) : best + 2].min()
    size = max(abs(float(levels[best])), abs(float(levels[-1])))
    low = float(levels[-3:].max())
    return len(values) >= _LONG and best <= 3 and low < min(high, float(levels[best]) - case.limit(SLUG, "fall") * size)


def _only_worse(case: Case, track: Track, returns: Points) -> Finding | None:
    """The last quarter is below the first one, most points of one below most of the other, and the trend is clear."""
    steps, values = returns
    quarter = len(values) // 4
    first, last = values[:quarter], values[-quarter:]
    fall = float(np.median(first) - np.median(last))
    size = max(abs(float(np.median(first))), abs(float(np.median(last))))
    if np.quantile(last, 0.75) >= np.quantile(first, 0.25) or fall < case.limit(SLUG, "fall") * size:
        return None
    line = trend(returns)
    if line is None or line.p_falling > _FALLS:
        return None
    return case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} fell from {number(float(np.median(first)))} to {number(float(np.median(last)))} and has not "
        "recovered: the policy is getting worse.",
        evidence=[Evidence(track.tag, "p-value of a falling trend", line.p_falling, _FALLS, int(steps[-1]))],
    )


def _slides(case: Case, track: Track) -> Finding | None:
    """Few points that go down nearly all the way from the best one, and far."""
    steps, values = track.points(most=64)
    best = int(np.argmax(values))
    since = values[best:]
    if not case.finished or len(values) < _FEWEST or len(since) < _FEWEST - 2:
        return None
    high, end = float(values[best]), float(np.median(values[-3:]))
    down = float((np.diff(since) < 0).mean())
    kept = (end - float(values[0])) / (high - float(values[0])) if best else 0.0
    # Noise goes down from its highest point, too; but a later point is not lower than an earlier one that often.
    later = np.subtract.outer(since, since)[np.tril_indices(len(since), -1)]
    if min(down, float((later < 0).mean()) - _ORDERED) < _NEARLY_ALL or kept >= case.limit(SLUG, "sure_share"):
        return None
    if high - end < case.limit(SLUG, "fall") * max(abs(high), abs(end)):
        return None
    return case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} was {number(high)} at step {int(steps[best]):,} and has since fallen to {number(end)}, almost "
        "steadily: the policy is getting worse.",
        first_step=int(steps[best]),
        evidence=[Evidence(track.tag, "share of steps down", down, _NEARLY_ALL, int(steps[-1]))],
    )


def _came_down(case: Case, track: Track) -> Finding | None:
    """Few points that rose, stayed high for three or more, and are all back in the lower half for the last ones."""
    steps, values = track.points(most=64)
    n = len(values)
    if not case.finished or n < _FEWEST:
        return None
    levels = centered_median(values, 3)
    best = int(np.argmax(levels[: n - _DOWN]))
    high, low = float(levels[best]), float(values.min())
    down = n - 1 - int(np.flatnonzero(values >= low + 0.5 * (high - low))[-1])
    if best == 0 or best > n - 1 - _DOWN or down < max(_DOWN, n // 4):
        return None
    before = values[max(0, n - down - _DOWN) : n - down]
    gap = float(before.min() - np.median(values[n - down :]))
    wander = noise_scale(values[: n - down])
    if gap < case.limit(SLUG, "noise_widths") * wander or gap < case.limit(SLUG, "fall") * max(abs(high), abs(low)):
        return None
    if gap < _MOST_OF_RANGE * (high - low) or before.min() < high - _NEAR_TOP * (high - low):
        return None
    return case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} was {number(high)} at step {int(steps[best]):,}, and the last {down} values are "
        f"{number(float(values[n - down :].max()))} or less: the policy lost most of what it had learned.",
        first_step=int(steps[n - down]),
        evidence=[Evidence(track.tag, "fall as a share of the range", gap / (high - low), _MOST_OF_RANGE)],
    )


def _below_all_before(case: Case, track: Track, returns: Points) -> Iterator[Finding]:
    """Few points show a collapse if the last ones are below all others by more than those ever differed."""
    steps, values = returns
    if len(values) < _FEWEST:
        raise TooShort(f"{track.tag!r} has {len(values)} of the {_FEWEST} different points this needs")
    last = max(3, len(values) // 4)
    before, after = values[:-last], values[-last:]
    drop, spread = float(before.min() - after.max()), float(np.ptp(before))
    if drop <= spread or spread <= 0 or drop < case.limit(SLUG, "fall") * max(abs(float(before.max())), 1e-12):
        return
    yield case.finding(
        SLUG,
        "warning",
        track,
        f"{track.tag} was between {number(float(before.min()))} and {number(float(before.max()))}, and the last "
        f"{last} values are {number(float(after.max()))} or less.",
        first_step=int(steps[-last]),
        evidence=[Evidence(track.tag, "fall relative to the range before", drop / spread, 1.0, int(steps[-1]))],
    )
