"""Episodes of the training loss: where it rose above its own level, and how that ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulseboard.diagnose.case import Case, Event, window_points
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Alarm, Change, Track

EVERY_POINT = Change()
SIXTEEN = Change(block=16)


@dataclass(frozen=True, slots=True)
class Episode:
    """One range of steps in which the loss was above its level."""

    alarm: Alarm
    slow: bool  # only means of sixteen points show it
    rise: float  # of the peak above the level before
    lasting: float  # of the last value above the level before
    explained: Event | None  # a declared change just before
    clear: float  # how far a quarter of it is above the points before, in their standard deviations

    @property
    def returned(self) -> bool | None:
        """Whether the loss came back to its level; None if the run is still in the episode or ended in it."""
        return self.alarm.returned


def episodes(case: Case, track: Track) -> list[Episode]:
    """The loss's episodes after warm-up. One that both tests see is reported once, by the finer test."""
    if not track.carries(EVERY_POINT):
        return []
    stride = stride_steps(track)
    near = max(1, int(window_points(len(track)) * stride / 4))
    found: list[Episode] = []
    fine = [alarm for alarm in track.alarms(EVERY_POINT) if alarm.first_step > case.warm_up_step]
    coarse = [alarm for alarm in track.alarms(SIXTEEN) if alarm.first_step > case.warm_up_step]
    for alarm, slow in [(a, False) for a in fine] + [(a, True) for a in coarse]:
        if slow and any(_overlap(alarm, other, 16 * stride) for other in fine):
            continue
        # After a sudden fall the test expects more of it, and mistakes a constant loss for a rise.
        if alarm.peak <= max(alarm.level, _just_before(track, alarm.first_step)):
            continue
        found.append(
            Episode(
                alarm,
                slow,
                rise=alarm.peak - alarm.level,
                lasting=alarm.last - alarm.level,
                # The change test places the start of a steep rise a little early.
                explained=case.explained_by(alarm.first_step, within_steps=near, until=alarm.peak_step),
                clear=clear_of_noise(track, alarm),
            )
        )
    return sorted(found, key=lambda episode: episode.alarm.first_step)


def stride_steps(track: Track) -> float:
    """Steps between two points, on average."""
    if track.first_step is None or track.last_step is None or len(track) < 2:
        return 1.0
    return max(1.0, (track.last_step - track.first_step) / (len(track) - 1))


def points_since(track: Track, step: int) -> int:
    """About how many points are at or after a step."""
    return 0 if track.last_step is None else int((track.last_step - step) / stride_steps(track)) + 1


def _just_before(track: Track, step: int) -> float:
    """The median of the last points before a step."""
    steps, values = track.points()
    before = values[: int(np.searchsorted(steps, step))][-5:]
    return float(np.median(before)) if len(before) else float("-inf")


def clear_of_noise(track: Track, alarm: Alarm) -> float:
    """How far the upper quarter of an episode is above the points before it, in standard deviations of points."""
    steps, values = track.points()
    first = int(np.searchsorted(steps, alarm.first_step))
    end = len(steps) if alarm.end_step is None else int(np.searchsorted(steps, alarm.end_step, "right"))
    before = values[max(0, first - 64) : first]
    if len(before) < 8 or end <= first:
        return float("inf")
    level = max(alarm.level, float(np.median(before[-16:])))
    return float((np.quantile(values[first:end], 0.75) - level) / max(noise_scale(before), 1e-300))


def _overlap(a: Alarm, b: Alarm, slack: float) -> bool:
    end_a = a.end_step if a.end_step is not None else float("inf")
    end_b = b.end_step if b.end_step is not None else float("inf")
    return a.first_step - slack <= end_b and b.first_step - slack <= end_a
