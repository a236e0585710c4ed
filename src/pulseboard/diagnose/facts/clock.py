"""One clock for two series: evaluations may count epochs where training counts steps."""

from __future__ import annotations

import numpy as np

from pulseboard.diagnose.track import Ints, Track

# A last step below this share of the other's is counted in another unit.
_OTHER_UNIT = 0.5


def steps_on_clock(track: Track, clock: Track) -> Ints:
    """The steps of a series on the axis of another: its own if they share one, else by wall time, else by share."""
    steps = track.points().steps
    if not len(steps) or clock.first_step is None or clock.last_step is None or track.last_step is None:
        return steps
    if track.last_step >= _OTHER_UNIT * clock.last_step or track.last_step <= 0:
        return steps
    first, last = clock.first_step, clock.last_step
    own_steps, own_walls = track.walls()
    clock_steps, clock_walls = clock.walls()
    if len(own_steps) == len(steps) and _tells_time(own_walls) and _tells_time(clock_walls):
        placed: Ints = np.interp(own_walls, clock_walls, clock_steps.astype(float)).astype(np.int64)
        return placed
    share = (steps - min(0, int(steps[0]))) / max(1, track.last_step)
    scaled: Ints = (first + share * (last - first)).astype(np.int64)
    return scaled


def _tells_time(walls: np.ndarray) -> bool:
    return (
        len(walls) > 1 and bool(np.isfinite(walls).all()) and bool((np.diff(walls) >= 0).all()) and walls[-1] > walls[0]
    )
