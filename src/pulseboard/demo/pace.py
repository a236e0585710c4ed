"""Pace: steps spread evenly over the time that a demonstration has, so that curves grow before one's eyes."""

from __future__ import annotations

import time


class Pace:
    """So many steps in so many seconds. On a busy machine it takes longer; no step is left out."""

    def __init__(self, *, secs: float, steps: int) -> None:
        self._secs_a_step = secs / steps
        self._began = time.monotonic()
        self._done = 0

    def step(self) -> None:
        """One step is done: wait for the next one's time, if that is yet to come."""
        self._done += 1
        ahead = self._began + self._done * self._secs_a_step - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
