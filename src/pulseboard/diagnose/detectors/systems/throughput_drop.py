"""Throughput drop: steps have become slower."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.episodes import points_since, stride_steps
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.phrases import times as multiple
from pulseboard.diagnose.track import Change, Track

UP = Change(log=True)


@detector(id="throughput-drop", reads="time.step")
def throughput_drop(case: Case) -> Iterator[Finding]:
    """A lasting rise of the step time. A small one is info: recipes change the work of a step by schedule."""
    time = case.need("time.step", points=64)
    limit, least = case.limit("throughput-drop", "times"), case.limit("throughput-drop", "points")
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
            "throughput-drop",
            "warning" if why or factor >= case.limit("throughput-drop", "severe_times") else "info",
            time,
            f"{time.tag} rose from {number(was)} to {number(now)} ({multiple(factor)}) at step {alarm.first_step}"
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
