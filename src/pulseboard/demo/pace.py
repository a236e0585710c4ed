"""Pace: spreads steps evenly over the duration of the demo, so that curves grow visibly."""

from __future__ import annotations

import time


class Pace:
    """A number of steps in a number of seconds. On a busy machine it takes longer, but no step is skipped."""

    def __init__(self, *, secs: float, steps: int) -> None:
        self._secs_per_step = secs / steps
        self._started_at = time.monotonic()
        self._done = 0

    def step(self) -> None:
        """A step is done: wait until the next one is due."""
        self._done += 1
        wait_secs = self._started_at + self._done * self._secs_per_step - time.monotonic()
        if wait_secs > 0:
            time.sleep(wait_secs)
