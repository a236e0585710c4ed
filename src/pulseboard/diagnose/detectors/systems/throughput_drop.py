"""Throughput drop: steps have become slower."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import points_since, stride_steps
from pulseboard.diagnose.phrases import count, number
from pulseboard.diagnose.phrases import times as multiple
from pulseboard.diagnose.track import Change, Floats, Track

UP = Change(log=True)


SLUG = "throughput-drop"
_NEARLY_ALL = 0.8  # of all pairs of epochs, the later one is slower


@detector(id=SLUG, reads="time.step|time.interval")
def throughput_drop(case: Case) -> Iterator[Finding]:
    """A lasting rise of the step time. A small one is info: recipes change the work of a step by schedule."""
    changed = list(_changed(case)) if case.one("time.step") is not None else []
    if changed:
        yield from changed
        return
    tracks = [track for role in ("time.step", "time.interval") if (track := case.one(role)) is not None]
    long = [track for track in tracks if track.finite_count >= case.limit(SLUG, "least")]
    if not long and case.finished and (slow := _slow_epochs(case)) is not None:
        yield slow
        return
    if not long:
        raise TooShort(
            f"{tracks[0].tag!r} has {tracks[0].finite_count} of {case.limit(SLUG, 'least'):.0f} points needed"
        )
    for track in long:
        yield from _slow_state(case, track)
        return


def _slow_state(case: Case, time: Track) -> Iterator[Finding]:
    """Several times as slow as at first, for much of the run, for whatever reason."""
    steps, values = time.points(most=512)
    split = _split(values)
    if split is None:
        return
    was, now = float(np.median(values[1:split])), float(np.median(values[split:]))
    first, factor = int(steps[split]), case.limit(SLUG, "state_times")
    if now < factor * was or case.explained_by(first, within_steps=int(16 * stride_steps(time))) is not None:
        return
    yield case.finding(
        SLUG,
        "warning",
        time,
        f"{time.tag} rose from {number(was)} to {number(now)} ({multiple(now / was)}) at step {first:,} and stays "
        "there.",
        first_step=first,
        evidence=[Evidence(time.tag, "time relative to the time before", now / was, factor, first)],
    )


def _slow_epochs(case: Case) -> Finding | None:
    """Times of a few epochs that grow almost steadily, to several times their first values."""
    time = case.one("time.interval")
    if time is None or time.finite_count < case.limit(SLUG, "epochs"):
        return None
    steps, values = time.points(most=512)
    later = values[1:]  # the first one has the start-up in it
    was, now = float(np.median(later[:3])), float(np.median(later[-3:]))
    pairs = np.subtract.outer(later, later)[np.tril_indices(len(later), -1)]
    factor = case.limit(SLUG, "epoch_times")
    if now < factor * was or float((pairs > 0).mean()) < _NEARLY_ALL:
        return None
    first = int(steps[1 + int(np.flatnonzero(later < 1.25 * was)[-1])])
    return case.finding(
        SLUG,
        "warning",
        time,
        f"{time.tag} rose from {number(was)} to {number(now)} ({multiple(now / was)}) over "
        f"{count(len(values), 'epoch')}.",
        first_step=first,
        evidence=[Evidence(time.tag, "time relative to the first epochs", now / was, factor, first)],
    )


def _split(values: Floats) -> int | None:
    """The index that divides fast points from slow ones best; None if the two overlap or one side is short."""
    n = len(values)
    least = max(3, n // 5)  # of the slow points; warm-up is a few points
    best, found = 1.0, None
    for at in np.unique(np.geomspace(4, max(4, n - least), 24).astype(int)):
        before, after = values[1:at], values[at:]
        if len(after) < least or (high := float(np.quantile(before, 0.9))) <= 0:
            continue
        apart = float(np.quantile(after, 0.1)) / high
        if apart > best:
            best, found = apart, int(at)
    return found


def _changed(case: Case) -> Iterator[Finding]:
    """A change that the change test has found."""
    time = case.one("time.step")
    if time is None or time.finite_count < 64:
        return
    limit, least = case.limit(SLUG, "times"), case.limit(SLUG, "points")
    steps, values = time.points(most=1024)
    for alarm in time.alarms(UP) if time.carries(UP) else ():
        lasts = points_since(time, alarm.first_step) >= least
        after = values[steps >= alarm.first_step]
        before = values[(steps < alarm.first_step) & (steps > case.warm_up_step)]
        if alarm.first_step <= case.warm_up_step or alarm.returned is True or not lasts or len(before) < 16:
            continue
        was, now = float(np.median(before)), float(np.median(after))
        factor = now / was
        if factor < limit or math.exp(alarm.last - alarm.level) < limit:
            continue
        if case.explained_by(alarm.first_step, within_steps=int(16 * stride_steps(time))) is not None:
            continue
        why = _corroborated(case, alarm.first_step)
        yield case.finding(
            SLUG,
            "warning" if why or factor >= case.limit(SLUG, "severe_times") else "info",
            time,
            f"{time.tag} rose from {number(was)} to {number(now)} ({multiple(factor)}) at step {alarm.first_step:,}"
            + (f": {why}." if why else ". A planned change of batch size or sequence length would look the same."),
            first_step=alarm.first_step,
            evidence=[Evidence(time.tag, "step time relative to the level before", factor, limit, alarm.alarm_step)],
        )
        return


def _corroborated(case: Case, step: int) -> str:
    """Evidence that the machine, and not a planned change, is the reason."""
    slower = _grown(case.one("time.step"), step)
    waits = _grown(case.one("time.data"), step)
    if slower is not None and waits is not None and waits[1] - waits[0] > 0.5 * (slower[1] - slower[0]):
        return "most of the extra time is spent waiting for data"
    for track in case.every("gpu.temperature"):
        hotter = _grown(track, step)
        if hotter is not None and hotter[1] > 1.1 * hotter[0]:
            return "the GPU has become hotter"
    return ""


def _grown(track: Track | None, step: int) -> tuple[float, float] | None:
    """The medians before and after a step."""
    if track is None:
        return None
    steps, values = track.points(most=512)
    before, after = values[steps < step], values[steps >= step]
    if len(before) < 8 or len(after) < 8:
        return None
    return float(np.median(before)), float(np.median(after))
